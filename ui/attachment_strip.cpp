#include "ui/attachment_strip.h"

#include "ui/composer.h"
#include "ui/controls.h"
#include "ui/theme.h"

#include <QApplication>
#include <QFontMetrics>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QMenu>
#include <QPainter>
#include <QPainterPath>
#include <QPlainTextEdit>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace ui {

namespace {

constexpr int kGap = 8;

QString noteFor(const AttachmentChip& chip) {
    using State = AttachmentChip::State;
    if (chip.state == State::Checking) return AttachmentStrip::tr("Looking at it…");
    if (chip.state == State::Failed) return chip.problem;
    QStringList parts;
    if (!chip.text.isEmpty())
        parts += AttachmentStrip::tr("%1 characters").arg(QLocale().toString(chip.text.size()));
    if (chip.tokens >= 0)
        parts += chip.tokens == 1
                     ? AttachmentStrip::tr("1 token")
                     : AttachmentStrip::tr("%1 tokens").arg(QLocale().toString(chip.tokens));
    if (chip.shrunkPercent < 100)
        parts += AttachmentStrip::tr("will be shrunk to %1 %")
                     .arg(QLocale().toString(chip.shrunkPercent));
    return parts.join(QString(" · "));
}

} // namespace

class AttachmentStrip::ChipWidget : public QWidget {
public:
    ChipWidget(const AttachmentChip& chip, AttachmentStrip* strip) : QWidget(strip), m_chip(chip) {
        auto* row = new QHBoxLayout(this);
        row->setContentsMargins(8, 6, 4, 6);
        row->setSpacing(8);
        row->addSpacing(40);
        auto* column = new QVBoxLayout;
        column->setSpacing(0);
        auto* name = new ElidedLabel(this);
        name->setText(chip.name);
        column->addWidget(name);
        if (chip.state == AttachmentChip::State::Failed) {
            // What is wrong and what helps is read whole.
            auto* note = label(noteFor(chip), this, "bad");
            setFontRole(note, FontRole::Caption);
            note->setWordWrap(true);
            column->addWidget(note);
        } else {
            auto* note = new ElidedLabel(this);
            setFontRole(note, FontRole::Caption);
            note->setText(noteFor(chip));
            note->setTint(chip.shrunkPercent < 100 ? &Colours::fourth : &Colours::muted);
            column->addWidget(note);
        }
        row->addLayout(column, 1);
        if (!chip.text.isEmpty()) {
            auto* more = iconButton("more", tr("More about %1").arg(chip.name), this);
            more->setPopupMode(QToolButton::InstantPopup);
            auto* menu = new QMenu(more);
            menu->addAction(tr("Show"), this,
                            [strip, text = chip.text] { emit strip->showWished(text); });
            auto* back = menu->addAction(tr("Turn Back into Text"), this,
                                         [strip, id = chip.id, text = chip.text] {
                                             emit strip->turnBackWished(text);
                                             strip->remove(id);
                                         });
            back->setEnabled(Composer::canBeTyped(chip.text));
            more->setMenu(menu);
            row->addWidget(more, 0, Qt::AlignVCenter);
        }
        auto* close = iconButton("close", tr("Remove %1").arg(chip.name), this);
        setIconPixels(close, 16);
        connect(close, &QToolButton::clicked, this, [strip, id = chip.id] { strip->remove(id); });
        row->addWidget(close, 0, Qt::AlignVCenter);
        setAccessibleName(chip.name + ", " + noteFor(chip));
        setToolTip(noteFor(chip));
    }

    QSize sizeHint() const override {
        const QSize hint = QWidget::sizeHint();
        const bool failed = m_chip.state == AttachmentChip::State::Failed;
        return QSize(failed ? ems(26) : std::clamp(hint.width(), ems(11), ems(26)),
                     std::max(hint.height(), 48));
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Colours& c = colours();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setRenderHint(QPainter::SmoothPixmapTransform);
        painter.setPen(m_chip.state == AttachmentChip::State::Failed ? c.bad : c.line);
        painter.setBrush(c.raised);
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
        const int x = isRightToLeft() ? width() - 40 : 8;
        const QRectF box(x, (height() - 32) / 2.0, 32, 32);
        QPainterPath shape;
        shape.addRoundedRect(box, 4, 4);
        if (m_chip.thumbnail.isNull()) {
            painter.fillPath(shape, c.surface);
            const bool picture = m_chip.text.isEmpty();
            icon(picture ? "picture" : "text", &Colours::muted)
                .paint(&painter, box.adjusted(6, 6, -6, -6).toRect());
        } else {
            QSizeF from = QSizeF(1, 1).scaled(m_chip.thumbnail.size(), Qt::KeepAspectRatio);
            QRectF source(QPointF(), from);
            source.moveCenter(QRectF(m_chip.thumbnail.rect()).center());
            painter.setClipPath(shape);
            painter.drawImage(box, m_chip.thumbnail, source);
        }
    }

private:
    AttachmentChip m_chip;
};

AttachmentStrip::AttachmentStrip(QWidget* parent) : QWidget(parent) {
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setAccessibleName(tr("Attachments"));
    hide();
}

int AttachmentStrip::add(AttachmentChip chip) {
    chip.id = m_nextId++;
    m_chips.push_back(std::move(chip));
    rebuild();
    return m_chips.back().id;
}

void AttachmentStrip::update(const AttachmentChip& chip) {
    for (AttachmentChip& mine : m_chips) {
        if (mine.id != chip.id) continue;
        mine = chip;
        rebuild();
        return;
    }
}

void AttachmentStrip::remove(int id) {
    const size_t before = m_chips.size();
    std::erase_if(m_chips, [id](const AttachmentChip& chip) { return chip.id == id; });
    if (m_chips.size() != before) rebuild();
}

void AttachmentStrip::clear() {
    if (m_chips.empty()) return;
    m_chips.clear();
    rebuild();
}

int AttachmentStrip::tokens() const {
    int sum = 0;
    for (const AttachmentChip& chip : m_chips) sum += std::max(0, chip.tokens);
    return sum;
}

void AttachmentStrip::rebuild() {
    for (ChipWidget* widget : m_widgets) {
        widget->hide();
        widget->deleteLater(); // its own button may have asked for this
    }
    m_widgets.clear();
    for (const AttachmentChip& chip : m_chips) {
        m_widgets.push_back(new ChipWidget(chip, this));
        m_widgets.back()->show();
    }
    setVisible(!m_chips.empty());
    place(width(), true);
    updateGeometry();
    emit changed();
}

int AttachmentStrip::place(int width, bool apply) const {
    int x = 0, y = 0, rowHeight = 0;
    for (ChipWidget* widget : m_widgets) {
        QSize size = widget->sizeHint();
        size.setWidth(std::min(size.width(), std::max(120, width)));
        if (widget->hasHeightForWidth())
            size.setHeight(std::max(48, widget->heightForWidth(size.width())));
        if (x > 0 && x + size.width() > width) {
            x = 0;
            y += rowHeight + kGap;
            rowHeight = 0;
        }
        if (apply)
            widget->setGeometry(
                QStyle::visualRect(layoutDirection(), rect(), QRect(QPoint(x, y), size)));
        x += size.width() + kGap;
        rowHeight = std::max(rowHeight, size.height());
    }
    return y + rowHeight;
}

int AttachmentStrip::heightForWidth(int width) const {
    return place(width, false);
}
QSize AttachmentStrip::sizeHint() const {
    return QSize(ems(20), place(std::max(width(), ems(20)), false));
}

void AttachmentStrip::resizeEvent(QResizeEvent*) {
    place(width(), true);
}

bool AttachmentStrip::event(QEvent* event) {
    if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::LayoutDirectionChange) {
        place(width(), true);
        updateGeometry();
    }
    return QWidget::event(event);
}

} // namespace ui
