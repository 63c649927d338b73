#pragma once
// The text field of the composer: keys, input methods, long pastes and pictures.

#include <QPlainTextEdit>

namespace ui {

class ComposerEdit : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit ComposerEdit(QWidget* parent);
    void setEnterSends(bool sends) { m_enterSends = sends; }
    bool composing() const { return !m_preedit.isEmpty(); }
    // Height of the text at the present width, with the margins.
    int wantedHeight() const;

signals:
    void sendWished();
    void dataWished(const QMimeData* data); // something to attach; handle it at once
    void longPaste(const QString& text);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void inputMethodEvent(QInputMethodEvent* event) override;
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;

private:
    bool m_enterSends = true;
    QString m_preedit;
};

} // namespace ui
