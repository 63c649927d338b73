#pragma once
// Where the person writes: chips above, text, and a last row with attach, thinking strength, token
// price and Send / Stop. Shows state and emits wishes; decoding and storing of what is attached
// happens elsewhere and comes back as setChip().

#include "engine/chat/conversation.h"
#include "ui/attachment_strip.h"

#include <QImage>
#include <QStringList>
#include <QWidget>

#include <optional>

#include <vector>

class QMimeData;

namespace ui {

class ComposerEdit;

// Unsent work of one chat.
struct Draft {
    QString text;
    QStringList pasted;                          // long pastes kept as chips
    std::vector<engine::Attachment> attachments; // of chips that are ready
    // What the message will say: the typed text, then each paste as a paragraph of its own.
    QString fullText() const;
    bool empty() const { return text.isEmpty() && pasted.isEmpty() && attachments.empty(); }
    bool operator==(const Draft&) const = default;
};

class Composer : public QWidget {
    Q_OBJECT
public:
    static constexpr int kLongPaste = 8000;      // characters
    static constexpr int kLongestText = 200'000; // of the field, in characters; more is a chip
    static constexpr int kLongestWord = 20'000;  // of the field, without a break

    explicit Composer(QWidget* parent = nullptr);

    Draft draft() const;
    // Shows another chat's draft; its attachments appear as chips (thumbnails through setChip with
    // the id returned by chipOf). Emits nothing.
    void setDraft(const Draft& draft);
    int chipOf(const QString& sha256) const; // -1 if there is none

    // State.
    void setAnswering(bool answering);
    // Not empty: Send is off and this says why ("No model is loaded"). Typing stays possible.
    void setSendBlocked(const QString& reason);
    void setTokenPrice(int tokens); // -1: not known
    void setStrength(engine::ThinkingStrength strength);
    // A line appears from 80 %, or when the message takes more than what is left.
    void setContextUse(qint64 usedTokens, qint64 totalTokens);
    void setEnterSends(bool sends);
    // A chip was looked at: state, size, tokens, thumbnail. Unknown ids (removed meanwhile) are
    // ignored.
    void setChip(const AttachmentChip& chip);
    // The next Send makes a new version of this message.
    void beginEdit(qint64 messageId, const Draft& content);
    void endEdit();
    qint64 editing() const { return m_editing; }
    void send(); // as the button does
    // What was refused comes back to the field, before anything typed since.
    void giveBack(const Draft& draft);

    // Sent while an answer was being written: goes out by itself when that ends, or comes back to
    // the field if the person stopped it.
    std::optional<Draft> queued() const;
    void
    setQueued(const std::optional<Draft>& draft); // of the chat that is shown now; emits nothing

    // The field can hold it and stay quick.
    static bool canBeTyped(const QString& text);
    void focusText();
    void insertText(const QString& text);
    void paste();
    void openFileDialog();
    void attachPath(const QString& path); // a file from outside the window, as if it was dropped
    // True if something of it can be attached; used by every drop target of the window.
    static bool accepts(const QMimeData* data);
    void take(const QMimeData* data);
    void setMaxHeight(int pixels); // 40 % of the window, set by MainWindow

signals:
    // Send was pressed. `editOf`: message that gets a new version, 0 for none. The field is empty
    // afterwards.
    void sendWished(const ui::Draft& draft, qint64 editOf);
    void stopWished();
    void draftChanged(); // at most four times a second; read draft()
    void draftSet();     // another draft is shown, its pictures without thumbnails; see setChip()
    // A new chip is being looked at; answer with setChip(). `path` is local.
    void attachFileWished(int chip, const QString& path);
    void attachImageWished(int chip, const QImage& image, const QString& name);
    void strengthChosen(engine::ThinkingStrength strength);
    void sizeWished(); // height changed

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    class Private;
    Private* d = nullptr; // a child of this widget
    qint64 m_editing = 0;
};

} // namespace ui
