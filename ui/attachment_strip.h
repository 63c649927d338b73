#pragma once
// The chips above the composer's text: pictures, files and long pastes, each with what it costs and
// Remove.

#include "engine/chat/conversation.h"

#include <QImage>
#include <QString>
#include <QWidget>

#include <optional>
#include <vector>

namespace ui {

struct AttachmentChip {
    enum class State { Checking, Ready, Failed };
    int id = 0; // given by the strip
    State state = State::Checking;
    QString name;
    QImage thumbnail;              // about 96 px; null: an icon
    int tokens = -1;               // -1: not known
    int shrunkPercent = 100;       // below 100: "will be shrunk to 53 %"
    QString problem;               // Failed: a sentence
    engine::Attachment attachment; // Ready: what goes with the message
    QString text;                  // a long paste; then there is no attachment
};

class AttachmentStrip : public QWidget {
    Q_OBJECT
public:
    explicit AttachmentStrip(QWidget* parent = nullptr);

    int add(AttachmentChip chip); // returns its id
    void update(const AttachmentChip& chip);
    void remove(int id);
    void clear();
    const std::vector<AttachmentChip>& chips() const { return m_chips; }
    int tokens() const; // of all chips whose price is known

    int heightForWidth(int width) const override;
    bool hasHeightForWidth() const override { return true; }
    QSize sizeHint() const override;

signals:
    void changed();                           // a chip came, went or became ready
    void turnBackWished(const QString& text); // a long paste is wanted as text again
    void showWished(const QString& text);     // a long paste is wanted on screen

protected:
    void resizeEvent(QResizeEvent* event) override;
    bool event(QEvent* event) override;

private:
    class ChipWidget;
    int place(int width, bool apply) const;
    void rebuild();

    std::vector<AttachmentChip> m_chips;
    std::vector<ChipWidget*> m_widgets; // children
    int m_nextId = 1;
};

} // namespace ui
