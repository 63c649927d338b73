#include "ui/composer_edit.h"

#include "ui/composer.h"
#include "ui/theme.h"

#include <QAbstractTextDocumentLayout>
#include <QInputMethodEvent>
#include <QKeyEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QTextBlock>

#include <cmath>

namespace ui {

ComposerEdit::ComposerEdit(QWidget* parent) : QPlainTextEdit(parent) {
    setProperty("kind", "bare");
    setPlaceholderText(tr("Message…"));
    setAccessibleName(tr("Message"));
    setTabChangesFocus(true);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    document()->setDocumentMargin(2);
    // Drops are handled by the window, the same wherever they fall.
    setAcceptDrops(false);
    viewport()->setAcceptDrops(false);
    viewport()->setAccessibleName(tr("Message"));
    verticalScrollBar()->setAccessibleName(tr("Scroll the message"));
}

int ComposerEdit::wantedHeight() const {
    // QPlainTextEdit's layout counts lines, not pixels.
    const double lines = document()->documentLayout()->documentSize().height();
    return int(
        std::ceil(lines * fontMetrics().lineSpacing() + 2 * document()->documentMargin() + 2));
}

void ComposerEdit::keyPressEvent(QKeyEvent* event) {
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && !composing()) {
        const bool plain =
            !(event->modifiers() & (Qt::ShiftModifier | Qt::ControlModifier | Qt::AltModifier));
        const bool shifted = event->modifiers() & Qt::ShiftModifier;
        const bool control = event->modifiers() & Qt::ControlModifier;
        if (m_enterSends ? plain || control : control || shifted) {
            emit sendWished();
            return;
        }
        insertPlainText("\n");
        ensureCursorVisible();
        return;
    }
    // While an input method composes, Enter belongs to it; some send it as a key as well.
    if (enter) return;
    QPlainTextEdit::keyPressEvent(event);
}

// The composer draws the frame, and its colour tells where typing goes.
void ComposerEdit::focusInEvent(QFocusEvent* event) {
    QPlainTextEdit::focusInEvent(event);
    parentWidget()->update();
}

void ComposerEdit::focusOutEvent(QFocusEvent* event) {
    QPlainTextEdit::focusOutEvent(event);
    parentWidget()->update();
}

void ComposerEdit::inputMethodEvent(QInputMethodEvent* event) {
    m_preedit = event->preeditString();
    QPlainTextEdit::inputMethodEvent(event);
}

bool ComposerEdit::canInsertFromMimeData(const QMimeData* source) const {
    return Composer::accepts(source) || QPlainTextEdit::canInsertFromMimeData(source);
}

void ComposerEdit::insertFromMimeData(const QMimeData* source) {
    // Text wins over a picture of it, as word processors offer both.
    if (Composer::accepts(source) && (!source->hasText() || source->hasUrls())) {
        emit dataWished(source);
        return;
    }
    if (source->hasText()) {
        const QString text = source->text();
        if (text.size() > Composer::kLongPaste)
            emit longPaste(text);
        else
            insertPlainText(text);
        ensureCursorVisible();
    }
}

} // namespace ui
