#include "ui/controls.h"

#include "ui/theme.h"

#include <QLabel>
#include <QPainter>
#include <QStyle>
#include <QStyleOptionToolButton>
#include <QStylePainter>

#include <algorithm>

namespace ui {

QToolButton* iconButton(const char* iconName, const QString& name, QWidget* parent) {
    auto* button = new QToolButton(parent);
    button->setIcon(icon(iconName));
    setIconPixels(button, 20);
    button->setToolTip(name);
    button->setAccessibleName(name);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

QToolButton* textButton(const QString& text, QWidget* parent, const char* iconName) {
    auto* button = new QToolButton(parent);
    button->setText(text);
    button->setProperty("kind", "text");
    button->setFocusPolicy(Qt::TabFocus);
    if (iconName) {
        button->setIcon(icon(iconName, &Colours::muted));
        setIconPixels(button, 18);
        button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    }
    return button;
}

QLabel* label(const QString& text, QWidget* parent, const char* tone) {
    auto* made = new QLabel(text, parent);
    made->setTextFormat(Qt::PlainText);
    if (tone) made->setProperty("tone", tone);
    return made;
}

void setTone(QWidget* widget, const char* tone) {
    const QVariant value = tone ? QVariant(tone) : QVariant();
    if (widget->property("tone") == value) return;
    widget->setProperty("tone", value);
    widget->style()->unpolish(widget);
    widget->style()->polish(widget);
}

MenuButton::MenuButton(QWidget* parent, bool framed) : QToolButton(parent), m_framed(framed) {
    setPopupMode(QToolButton::InstantPopup);
    setFocusPolicy(Qt::TabFocus);
}

int MenuButton::arrowSize() const {
    return std::max(16, QFontMetrics(font()).height() * 3 / 4);
}

QSize MenuButton::sizeHint() const {
    const QFontMetrics metrics(font());
    return QSize(metrics.horizontalAdvance(text()) + 20 + arrowSize(),
                 std::max(28, metrics.height() + 8));
}

void MenuButton::paintEvent(QPaintEvent*) {
    const Colours& c = colours();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF frame = QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5);
    QColor back = c.text;
    back.setAlphaF(isDown() ? 0.12f : 0.07f);
    painter.setBrush(underMouse() || isDown() ? QBrush(back)
                     : m_framed               ? QBrush(c.raised)
                                              : QBrush());
    painter.setPen(hasFocus() ? QPen(c.accent, 1.5) : m_framed ? QPen(c.line) : QPen(Qt::NoPen));
    painter.drawRoundedRect(frame, 6, 6);
    painter.setPen(isEnabled() && m_framed ? c.text : c.muted);
    const bool mirrored = isRightToLeft();
    const int size = arrowSize();
    const QRect text = rect().adjusted(mirrored ? size + 6 : 8, 0, mirrored ? -8 : -size - 6, 0);
    painter.drawText(text, Qt::AlignVCenter | Qt::AlignLeading, this->text());
    const QRect arrow(mirrored ? 6 : width() - size - 6, (height() - size) / 2, size, size);
    ui::icon("chevron-down", &Colours::muted).paint(&painter, arrow);
}

IconLabel::IconLabel(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void IconLabel::setIcon(const char* name, QColor Colours::*tint, const QString& meaning) {
    m_name = name;
    m_tint = tint;
    setAccessibleName(meaning);
    setVisible(name != nullptr);
    update();
}

// As high as a line of text, so that both stand on one line.
QSize IconLabel::sizeHint() const {
    const int side = std::max(18, QFontMetrics(font()).lineSpacing());
    return QSize(side, side);
}

void IconLabel::paintEvent(QPaintEvent*) {
    if (!m_name) return;
    QPainter painter(this);
    const int side = std::min({width(), height(), std::max(18, QFontMetrics(font()).ascent())});
    ui::icon(m_name, m_tint)
        .paint(&painter, QRect((width() - side) / 2, (height() - side) / 2, side, side));
}

ElidedLabel::ElidedLabel(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void ElidedLabel::setText(const QString& text) {
    if (text == m_text) return;
    m_text = text;
    setToolTip(text);
    setAccessibleName(text);
    updateGeometry();
    update();
}

void ElidedLabel::setTint(QColor Colours::*tint) {
    m_tint = tint;
    update();
}

QSize ElidedLabel::sizeHint() const {
    const QFontMetrics metrics(font());
    return QSize(metrics.horizontalAdvance(m_text) + 2, metrics.height());
}

QSize ElidedLabel::minimumSizeHint() const {
    const QFontMetrics metrics(font());
    return QSize(std::min(sizeHint().width(), metrics.averageCharWidth() * 4), metrics.height());
}

void ElidedLabel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setPen(colours().*m_tint);
    painter.drawText(rect(), Qt::AlignVCenter | Qt::AlignLeading,
                     QFontMetrics(font()).elidedText(m_text, Qt::ElideRight, width()));
}

FlowLayout::FlowLayout(int spacing, QWidget* parent) : QLayout(parent) {
    setSpacing(spacing);
    setContentsMargins(0, 0, 0, 0);
}

FlowLayout::~FlowLayout() {
    qDeleteAll(m_items);
}

void FlowLayout::addItem(QLayoutItem* item) {
    m_items.append(item);
}

QLayoutItem* FlowLayout::takeAt(int index) {
    return index >= 0 && index < m_items.size() ? m_items.takeAt(index) : nullptr;
}

int FlowLayout::heightForWidth(int width) const {
    return arrange(QRect(0, 0, width, 0), false);
}

QSize FlowLayout::sizeHint() const {
    int width = 0, height = 0;
    for (const QLayoutItem* item : m_items) {
        if (item->isEmpty()) continue;
        width += item->sizeHint().width() + (width ? spacing() : 0);
        height = std::max(height, item->sizeHint().height());
    }
    const QMargins margins = contentsMargins();
    return QSize(width + margins.left() + margins.right(),
                 height + margins.top() + margins.bottom());
}

QSize FlowLayout::minimumSize() const {
    QSize size;
    for (const QLayoutItem* item : m_items)
        if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
    const QMargins margins = contentsMargins();
    return size + QSize(margins.left() + margins.right(), margins.top() + margins.bottom());
}

void FlowLayout::setGeometry(const QRect& rect) {
    QLayout::setGeometry(rect);
    arrange(rect, true);
}

int FlowLayout::arrange(const QRect& whole, bool apply) const {
    const QMargins margins = contentsMargins();
    const QRect rect = whole.marginsRemoved(margins);
    const QWidget* owner = parentWidget();
    const auto direction = owner ? owner->layoutDirection() : Qt::LeftToRight;
    int x = 0, y = 0, rowHeight = 0;
    for (QLayoutItem* item : m_items) {
        if (item->isEmpty()) continue;
        QSize size = item->sizeHint();
        size.setWidth(std::min(size.width(), rect.width()));
        if (x > 0 && x + size.width() > rect.width()) {
            x = 0;
            y += rowHeight + std::min(spacing(), 8);
            rowHeight = 0;
        }
        if (item->hasHeightForWidth()) size.setHeight(item->heightForWidth(size.width()));
        if (apply) {
            const QRect at(rect.topLeft() + QPoint(x, y), size);
            item->setGeometry(QStyle::visualRect(direction, rect, at));
        }
        x += size.width() + spacing();
        rowHeight = std::max(rowHeight, size.height());
    }
    return y + rowHeight + margins.top() + margins.bottom();
}

} // namespace ui
