#pragma once
// Values with which the program says that something needs attention, and offers what can be done.

#include <QList>
#include <QString>

namespace ui {

struct Remedy {
    QString id;   // what the wish signal carries back
    QString text; // a verb: "Use Shorter Conversation"
    bool operator==(const Remedy&) const = default;
};

enum class NoticeKind { Info, Warning, Bad };

// A bar above the transcript, or a card in it. One per `id`; showing it again replaces it.
struct Notice {
    QString id;
    NoticeKind kind = NoticeKind::Info;
    QString text;    // what happened, why if known, what you can do
    QString details; // log excerpt behind "Details"; empty: no such button
    QList<Remedy> remedies;
    bool closable = true;
    bool operator==(const Notice&) const = default;
};

} // namespace ui
