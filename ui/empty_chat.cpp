#include "ui/empty_chat.h"

#include "ui/controls.h"
#include "ui/notice_card.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace ui {

namespace {

constexpr int kMargin = 24;

// A button whose text may take several lines.
class StarterCard : public QPushButton {
public:
    StarterCard(const QString& text, QWidget* parent) : QPushButton(parent), m_text(text) {
        setAccessibleName(text);
        setCursor(Qt::PointingHandCursor);
        QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
        policy.setHeightForWidth(true);
        setSizePolicy(policy);
    }
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override {
        return textRect(QRect(0, 0, width, 10000)).height() + 2 * kPadY;
    }
    QSize sizeHint() const override { return QSize(ems(14), heightForWidth(ems(14))); }
    QSize minimumSizeHint() const override {
        return QSize(ems(9), QFontMetrics(font()).height() + 2 * kPadY);
    }

protected:
    void paintEvent(QPaintEvent*) override {
        const Colours& c = colours();
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setBrush(underMouse() || isDown() ? c.surface : c.window);
        painter.setPen(hasFocus() ? QPen(c.accent, 1.5) : QPen(c.line));
        painter.drawRoundedRect(QRectF(rect()).adjusted(0.75, 0.75, -0.75, -0.75), 10, 10);
        painter.setPen(c.text);
        painter.drawText(rect().adjusted(kPadX, kPadY, -kPadX, -kPadY),
                         Qt::AlignLeading | Qt::AlignVCenter | Qt::TextWordWrap, m_text);
    }

private:
    static constexpr int kPadX = 14;
    static constexpr int kPadY = 12;
    QRect textRect(const QRect& within) const {
        return QFontMetrics(font()).boundingRect(within.adjusted(kPadX, 0, -kPadX, 0),
                                                 Qt::AlignLeading | Qt::TextWordWrap, m_text);
    }
    QString m_text;
};

} // namespace

EmptyChatPage::EmptyChatPage(QWidget* parent) : QWidget(parent) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    row->addStretch(1);
    m_column = new QWidget(this);
    row->addWidget(m_column, 1000);
    row->addStretch(1);
}

void EmptyChatPage::setContent(const EmptyChat& content) {
    if (content == m_content && m_column->layout()) return;
    m_content = content;
    auto* fresh = new QWidget(this);
    fresh->setMaximumWidth(ems(46));
    auto* column = new QVBoxLayout(fresh);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(8);
    column->addStretch(2);
    auto* title = label(content.title, fresh);
    title->setWordWrap(true);
    setFontRole(title, FontRole::Large);
    column->addWidget(title);
    auto* sentence = label(content.sentence, fresh, "muted");
    sentence->setWordWrap(true);
    column->addWidget(sentence);
    if (!content.notice.isEmpty()) {
        column->addSpacing(8);
        auto* note = new NoticeCard(fresh);
        note->setNotice({"test-model", NoticeKind::Warning, content.notice, {}, {}, false});
        column->addWidget(note);
    }
    column->addSpacing(16);
    m_starters.clear();
    for (const QString& text : content.starters) {
        auto* card = new StarterCard(text, fresh);
        connect(card, &QPushButton::clicked, this, [this, text] { emit starterChosen(text); });
        column->addWidget(card);
        m_starters.push_back(card);
    }
    column->addStretch(3);
    delete layout()->replaceWidget(m_column, fresh);
    m_column->deleteLater();
    m_column->hide();
    m_column = fresh;
    fresh->show();
    fit();
}

// A low window shows fewer examples, and those whole.
void EmptyChatPage::fit() {
    QLayout* const column = m_column->layout();
    if (!column) return;
    const int room = height() - 2 * kMargin;
    const int wide = std::min(width() - 2 * kMargin, m_column->maximumWidth());
    for (QWidget* card : m_starters) card->show();
    for (auto card = m_starters.rbegin(); card != m_starters.rend(); ++card) {
        column->invalidate();
        if (column->totalHeightForWidth(wide) <= room) break;
        (*card)->hide();
    }
}

void EmptyChatPage::resizeEvent(QResizeEvent*) {
    fit();
}

} // namespace ui
