#include "ui/notice_card.h"

#include "ui/controls.h"
#include "ui/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace ui {

NoticeCard::NoticeCard(QWidget* parent) : QFrame(parent) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
}

void NoticeCard::setNotice(const Notice& notice) {
    m_notice = notice;
    m_detailsOpen = false;
    setAccessibleName(notice.text);
    rebuild();
}

void NoticeCard::rebuild() {
    delete layout();
    // Later, since one of them may be the button whose click led here.
    for (QWidget* child : findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
        child->hide();
        child->deleteLater();
    }

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(14, 7, 8, 8);
    column->setSpacing(6);
    auto* row = new QHBoxLayout;
    row->setSpacing(10);
    auto* mark = new IconLabel(this);
    switch (m_notice.kind) {
    case NoticeKind::Bad: mark->setIcon("error", &Colours::bad, tr("Problem")); break;
    case NoticeKind::Warning: mark->setIcon("warning", &Colours::fourth, tr("Warning")); break;
    case NoticeKind::Info: mark->setIcon("info", &Colours::accent, tr("Note")); break;
    }
    // The first line of the text, the mark and the close button stand on one line.
    mark->setFixedHeight(28);
    row->addWidget(mark, 0, Qt::AlignTop);
    auto* text = new QLabel(m_notice.text, this);
    text->setWordWrap(true);
    text->setTextFormat(Qt::PlainText);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    text->setContentsMargins(0, std::max(0, (28 - text->fontMetrics().lineSpacing()) / 2), 0, 4);
    row->addWidget(text, 1, Qt::AlignTop);
    if (m_notice.closable) {
        auto* close = iconButton("close", tr("Close"), this);
        connect(close, &QToolButton::clicked, this, &NoticeCard::closed);
        row->addWidget(close, 0, Qt::AlignTop);
    }
    column->addLayout(row);
    if (!m_notice.remedies.isEmpty() || !m_notice.details.isEmpty()) {
        auto* buttons = new FlowLayout(8);
        buttons->setContentsMargins(30, 0, 0, 0);
        bool first = true;
        for (const Remedy& remedy : m_notice.remedies) {
            auto* button = new QPushButton(remedy.text, this);
            if (first && m_notice.kind == NoticeKind::Bad) button->setProperty("kind", "primary");
            first = false;
            connect(button, &QPushButton::clicked, this,
                    [this, id = remedy.id] { emit remedyWished(id); });
            buttons->addWidget(button);
        }
        if (!m_notice.details.isEmpty()) {
            auto* details =
                new QPushButton(m_detailsOpen ? tr("Hide Details") : tr("Details"), this);
            connect(details, &QPushButton::clicked, this, [this] {
                m_detailsOpen = !m_detailsOpen;
                rebuild();
                emit resized();
            });
            buttons->addWidget(details);
        }
        if (m_detailsOpen) {
            auto* copy = new QPushButton(tr("Copy"), this);
            connect(copy, &QPushButton::clicked, this, [this] {
                QApplication::clipboard()->setText(m_notice.text + "\n\n" + m_notice.details);
            });
            buttons->addWidget(copy);
        }
        column->addLayout(buttons);
    }
    if (m_detailsOpen) {
        auto* log = new QPlainTextEdit(m_notice.details, this);
        log->setReadOnly(true);
        log->setAccessibleName(tr("Details"));
        log->setTabChangesFocus(true);
        setFontRole(log, FontRole::Code);
        log->setFixedHeight(ems(9));
        column->addWidget(log);
    }
    updateGeometry();
}

void NoticeCard::paintEvent(QPaintEvent*) {
    const Colours& c = colours();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(c.surface);
    painter.setPen(m_notice.kind == NoticeKind::Bad       ? c.bad
                   : m_notice.kind == NoticeKind::Warning ? c.fourth
                                                          : c.line);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 10, 10);
}

} // namespace ui
