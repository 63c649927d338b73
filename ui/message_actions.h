#pragma once
// What can be done with one message: real buttons that stand in the message's footer while it is
// hovered or focused. One such row serves the whole transcript.

#include <QWidget>

class QLabel;
class QToolButton;

namespace ui {

struct MessageAbilities {
    bool copy = false;
    bool edit = false;
    bool tryAgain = false;
    bool resume = false;
    int version = 1;
    int versions = 1;
    bool canChangeVersion = true;
    bool operator==(const MessageAbilities&) const = default;
};

class MessageActions : public QWidget {
    Q_OBJECT
public:
    explicit MessageActions(QWidget* parent);
    void setAbilities(const MessageAbilities& abilities);

signals:
    void copyWished();
    void editWished();
    void tryAgainWished();
    void continueWished();
    void versionWished(int version);

private:
    MessageAbilities m_abilities;
    QToolButton* m_previous;
    QLabel* m_version;
    QToolButton* m_next;
    QToolButton* m_copy;
    QToolButton* m_edit;
    QToolButton* m_tryAgain;
    QToolButton* m_continue;
};

} // namespace ui
