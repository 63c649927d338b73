// What TranscriptView does with the mouse, the keyboard and a change of its size.

#include "ui/theme.h"
#include "ui/transcript_state.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QElapsedTimer>
#include <QMenu>
#include <QPushButton>
#include <QTimerEvent>
#include <QToolTip>

namespace ui {

void TranscriptView::resizeEvent(QResizeEvent*) {
    const int row = d->rows() ? d->rowAt(d->scroll()) : -1;
    double within = 0;
    const bool widthChanged = row >= 0 && d->layouts.count(row) &&
                              d->layouts.at(row).footerRect().width() != d->columnWidth();
    if (widthChanged) {
        within = (d->scroll() - d->tops[size_t(row)]) / std::max(1.0, d->heights[size_t(row)]);
        d->forgetLayouts();
        if (!d->follow) {
            d->layoutOf(row);
            d->computeTops();
            verticalScrollBar()->setRange(0, int(d->tops.back()));
            verticalScrollBar()->setValue(
                int(std::lround(d->tops[size_t(row)] + within * d->heights[size_t(row)])));
        }
    }
    d->settle();
}

void TranscriptView::scrollContentsBy(int, int) {
    if (d->settling) return;
    d->follow = d->atEnd();
    d->settle(false);
    if (d->mouseRow >= 0 && viewport()->underMouse())
        d->mouseMovedTo(viewport()->mapFromGlobal(QCursor::pos()));
}

void TranscriptView::mousePressEvent(QMouseEvent* event) {
    d->showFocus = false;
    d->pressed = event->position().toPoint();
    d->pressedTarget.clear();
    d->dragRow = -1;
    if (event->button() != Qt::LeftButton || d->rows() == 0) return;
    const int row = d->rowAt(event->position().y() + d->scroll());
    const QPointF inner = event->position() - d->rowOrigin(row);
    MessageLayout& layout = d->layoutOf(row);
    if (const double factor = layout.barFactor(inner); factor > 0) {
        d->dragRow = row;
        d->dragBlock = layout.blockIndexAt(inner);
        d->dragFactor = factor;
        return;
    }
    if (const auto hit = layout.hit(inner)) d->pressedTarget = hit->what.target;
    d->cursor = d->placeAt(event->position());
    if (!(event->modifiers() & Qt::ShiftModifier) || d->anchor.row < 0) d->anchor = d->cursor;
    d->focusRow = row;
    d->selecting = true;
    viewport()->update();
}

void TranscriptView::mouseMoveEvent(QMouseEvent* event) {
    const QPoint point = event->position().toPoint();
    if (d->dragRow >= 0 && d->dragRow < d->rows()) {
        d->layoutOf(d->dragRow)
            .scrollBlock(d->dragBlock, (point.x() - d->pressed.x()) * d->dragFactor);
        d->pressed = point;
        viewport()->update();
        return;
    }
    if (d->selecting && (event->buttons() & Qt::LeftButton)) {
        d->cursor = d->placeAt(event->position());
        d->lastMouse = point;
        const bool outside = point.y() < 0 || point.y() > viewport()->height();
        if (outside && !d->dragTimer.isActive()) d->dragTimer.start(30, this);
        if (!outside) d->dragTimer.stop();
        viewport()->update();
        return;
    }
    d->mouseMovedTo(point);
}

void TranscriptView::mouseReleaseEvent(QMouseEvent* event) {
    d->dragTimer.stop();
    d->dragRow = -1;
    const bool wasSelecting = d->selecting;
    d->selecting = false;
    if (event->button() != Qt::LeftButton || !wasSelecting || d->rows() == 0) return;
    if (d->pressedTarget.isEmpty() || d->anchor != d->cursor) return;
    const int row = d->rowAt(event->position().y() + d->scroll());
    const auto hit = d->layoutOf(row).hit(event->position() - d->rowOrigin(row));
    if (hit && hit->what.target == d->pressedTarget) d->act(row, hit->block, hit->what.target);
}

void TranscriptView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || d->rows() == 0) return;
    const Private::Place at = d->placeAt(event->position());
    const TextRange word = d->layoutOf(at.row).wordAt(at.position);
    d->anchor = {at.row, word.from};
    d->cursor = {at.row, word.to};
    viewport()->update();
}

void TranscriptView::keyPressEvent(QKeyEvent* event) {
    QScrollBar* bar = verticalScrollBar();
    switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Down: {
        if (event->modifiers() & ~Qt::KeypadModifier || d->rows() == 0) break;
        const int from = d->focusRow >= 0 ? d->focusRow : d->rows();
        d->setFocusRow(event->key() == Qt::Key_Up ? from - 1 : from + 1);
        return;
    }
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
        if (event->modifiers() & Qt::ControlModifier) break;
        bar->triggerAction(event->key() == Qt::Key_PageUp ? QScrollBar::SliderPageStepSub
                                                          : QScrollBar::SliderPageStepAdd);
        return;
    case Qt::Key_Home: bar->setValue(0); return;
    case Qt::Key_End: scrollToEnd(); return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        if (d->focusRow >= 0 && d->showFocus &&
            !d->model->thinking(d->focusRow).trimmed().isEmpty()) {
            d->act(d->focusRow, 0, "action:thinking");
            return;
        }
        break;
    default: break;
    }
    QAbstractScrollArea::keyPressEvent(event);
}

void TranscriptView::contextMenuEvent(QContextMenuEvent* event) {
    if (d->rows() == 0) return;
    const bool byKey = event->reason() == QContextMenuEvent::Keyboard;
    const QPoint local = viewport()->mapFromGlobal(event->globalPos());
    const int row = byKey && d->focusRow >= 0 ? d->focusRow : d->rowAt(local.y() + d->scroll());
    if (row < 0) return;
    const qint64 id = d->model->at(row).message.id;
    const bool user = d->model->at(row).message.role == engine::Role::User;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (!selectedText().isEmpty())
        menu->addAction(icon("copy"), tr("Copy Selection"), this, [this] { copy(); });
    const auto hit = d->layoutOf(row).hit(local - d->rowOrigin(row).toPoint());
    if (hit && !byKey && !hit->what.target.startsWith("action:"))
        menu->addAction(tr("Copy Link"), this,
                        [this, link = hit->what.target] { d->copyText(link, tr("Link copied")); });
    menu->addAction(icon("copy"), tr("Copy Message"), this, [this, row] {
        if (row < d->rows()) d->copyText(d->model->text(row), tr("Message copied"));
    });
    if (!d->answering && user)
        menu->addAction(icon("edit"), tr("Edit"), this, [this, id] { emit editWished(id); });
    if (!d->answering && !user)
        menu->addAction(icon("retry"), tr("Try Again"), this,
                        [this, id] { emit tryAgainWished(id); });
    menu->addSeparator();
    menu->addAction(tr("Select All"), this, [this] { selectAll(); });
    menu->popup(byKey ? viewport()->mapToGlobal(QPoint(int(d->columnLeft()), 20))
                      : event->globalPos());
}

void TranscriptView::focusInEvent(QFocusEvent* event) {
    if (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason ||
        event->reason() == Qt::ShortcutFocusReason) {
        d->showFocus = d->rows() > 0;
        if (d->focusRow < 0 && d->rows() > 0)
            d->focusRow = d->rowAt(d->scroll() + viewport()->height() - 60);
        d->placeWidgets();
    }
    viewport()->update();
}

void TranscriptView::focusOutEvent(QFocusEvent*) {
    if (!isAncestorOf(QApplication::focusWidget())) d->showFocus = false;
    d->placeWidgets();
    viewport()->update();
}

bool TranscriptView::viewportEvent(QEvent* event) {
    switch (event->type()) {
    case QEvent::Leave:
        d->mouseRow = -1;
        d->setHover(-1, -1, {});
        if (!d->showFocus) d->placeActions(-1);
        break;
    case QEvent::ToolTip: {
        if (d->rows() == 0) break;
        const auto* help = static_cast<QHelpEvent*>(event);
        const int row = d->rowAt(help->pos().y() + d->scroll());
        const auto hit = d->layoutOf(row).hit(help->pos() - d->rowOrigin(row));
        if (hit && !hit->what.tip.isEmpty())
            QToolTip::showText(help->globalPos(), hit->what.tip.toHtmlEscaped(), viewport());
        else
            QToolTip::hideText();
        return true;
    }
    case QEvent::Wheel: {
        auto* wheel = static_cast<QWheelEvent*>(event);
        QPoint delta = wheel->pixelDelta().isNull() ? wheel->angleDelta() / 2 : wheel->pixelDelta();
        // Qt turns Alt+wheel sideways itself; Shift+wheel is ours.
        if (wheel->modifiers() & Qt::ShiftModifier && delta.x() == 0) delta = QPoint(delta.y(), 0);
        if (std::abs(delta.x()) > std::abs(delta.y()) && d->rows() > 0) {
            const int row = d->rowAt(wheel->position().y() + d->scroll());
            MessageLayout& layout = d->layoutOf(row);
            const int block = layout.blockIndexAt(wheel->position() - d->rowOrigin(row));
            if (layout.scrollBlock(block, -delta.x())) viewport()->update();
            return true;
        }
        break;
    }
    default: break;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void TranscriptView::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    switch (event->type()) {
    case QEvent::PaletteChange:
    case QEvent::StyleChange:
    case QEvent::FontChange:
    case QEvent::LayoutDirectionChange:
        if (!d->heights.empty()) {
            d->forgetLayouts();
            d->settle();
        }
        break;
    default: break;
    }
}

void TranscriptView::timerEvent(QTimerEvent* event) {
    if (event->timerId() == d->growTimer.timerId()) {
        d->growTimer.stop();
        const bool away = !d->follow;
        QElapsedTimer clock;
        clock.start();
        d->settle();
        d->growCost = double(clock.nsecsElapsed()) / 1e6;
        if (away && !d->atEnd()) {
            d->jump->show();
            d->jump->raise();
            d->placeWidgets();
        }
    } else if (event->timerId() == d->dragTimer.timerId()) {
        QScrollBar* bar = verticalScrollBar();
        bar->setValue(bar->value() + (d->lastMouse.y() < 0 ? -24 : 24));
        d->cursor = d->placeAt(
            QPointF(d->lastMouse.x(), std::clamp(d->lastMouse.y(), 0, viewport()->height())));
        viewport()->update();
    } else {
        QAbstractScrollArea::timerEvent(event);
    }
}

} // namespace ui
