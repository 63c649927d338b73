#pragma once
// The messages of the open chat along its active path: what TranscriptView shows. Written on the
// GUI thread by the one controller that owns it; views only read. While an answer grows only the
// last row changes.

#include "engine/chat/conversation.h"
#include "engine/chat/turn_event.h"
#include "ui/notice.h"

#include <QAbstractListModel>
#include <QHash>
#include <QImage>
#include <QString>

#include <optional>
#include <vector>

namespace ui {

// What the last message waits for. Shown under it, in words.
struct Activity {
    enum class Kind { None, Waiting, Looking, Reading, Thinking, Answering };
    Kind kind = Kind::None;
    int pictureIndex = 0; // Looking: from 1
    int pictureCount = 0;
    int readDone = 0; // Reading: tokens
    int readTotal = 0;
    double secondsLeft = -1; // Reading: -1 if not known yet
    QString why;             // Reading: why earlier text is read again; or what is waited for
    double thinkingSeconds = 0;
    bool operator==(const Activity&) const = default;
};

struct MessageRow {
    engine::Message message;
    int version = 1; // of `versions`, from 1
    int versions = 1;
};

class ConversationModel : public QAbstractListModel {
    Q_OBJECT
public:
    explicit ConversationModel(QObject* parent = nullptr);

    // Qt's interface, for accessibility and tests: DisplayRole is the text.
    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

    const MessageRow& at(int row) const;
    int rowOf(qint64 messageId) const;  // -1 if not on the path
    const QString& text(int row) const; // converted once
    const QString& thinking(int row) const;
    const Activity& activity() const { return m_activity; }
    const std::optional<Notice>& errorCard() const { return m_error; }
    QImage picture(const QString& sha256) const; // null until setPicture

    // The whole path at once, e.g. when a chat is opened.
    void setRows(std::vector<MessageRow> rows);
    void setConversation(const engine::Conversation& conversation); // its active path
    void appendRow(MessageRow row);
    // Replaces one row, e.g. when an answer is complete; its text is laid out again.
    void replaceRow(int row, MessageRow value);
    void removeRowsFrom(int row);
    // Adds to the last row, which is an answer. Tool text is not shown.
    void appendDelta(const engine::TextDelta& delta);
    void setActivity(const Activity& activity);
    void setErrorCard(std::optional<Notice> card);
    // A picture for display, at most about 1024 px a side.
    void setPicture(const QString& sha256, const QImage& image);

signals:
    void lastRowGrew();     // text was added to the last row
    void activityChanged(); // activity or error card
    void pictureArrived(const QString& sha256);

private:
    struct Stored {
        MessageRow row;
        mutable QString text;
        mutable QString thinking;
        mutable bool converted = false;
    };
    void convert(const Stored& stored) const;

    std::vector<Stored> m_rows;
    Activity m_activity;
    std::optional<Notice> m_error;
    QHash<QString, QImage> m_pictures;
};

} // namespace ui
