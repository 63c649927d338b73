#pragma once
// The messages of a ConversationModel. Only what is visible is laid out; while an answer grows only
// its last block is. Follows the text only when the end is within 40 px.

#include "ui/conversation_model.h"
#include "ui/empty_chat.h"

#include <QAbstractScrollArea>

#include <memory>

class QUrl;

namespace ui {

class TranscriptView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit TranscriptView(QWidget* parent = nullptr);
    ~TranscriptView() override;

    void setModel(ConversationModel* model); // borrowed; may be null
    void setEmptyChat(const EmptyChat& empty);
    void setAnswering(bool answering);

    void scrollToEnd();
    void scrollToMessage(qint64 messageId, const QString& mark = {}); // marks the word
    bool followsEnd() const;

    // Find in chat: marks all, moves to the next one; returns the number of hits and the current
    // one.
    struct FindResult {
        int hits = 0;
        int current = 0; // from 1; 0: none
    };
    FindResult find(const QString& text, int step); // step +1, -1; 0: the first from here
    void clearFind();

    QString selectedText() const;
    bool copy(); // false if nothing is selected
    void selectAll();
    QString lastAnswer() const;
    qint64 focusedMessage() const; // 0: none

    int laidOutRows() const; // for tests: how many messages hold a layout

signals:
    void editWished(qint64 messageId);
    void tryAgainWished(qint64 messageId); // an answer: a new version of it
    void continueWished(qint64 messageId);
    void versionWished(qint64 messageId, int version); // from 1
    void answerNowWished();
    void stopWished();
    void remedyWished(const QString& remedyId); // of the error card
    void linkChosen(const QUrl& url);           // http, https or mailto; after a click
    void copied(const QString& what);
    void saveTextWished(const QString& suggestedName, const QString& text);
    void pictureWanted(const QString& sha256); // visible and not in the model yet
    void pictureChosen(const QString& sha256, const QString& name);
    void starterChosen(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    bool viewportEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void timerEvent(QTimerEvent* event) override;

private:
    class Private;
    friend class Private;
    std::unique_ptr<Private> d;
};

} // namespace ui
