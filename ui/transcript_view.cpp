#include "ui/transcript_view.h"

#include "ui/message_actions.h"
#include "ui/notice_card.h"
#include "ui/theme.h"
#include "ui/transcript_state.h"

#include <QApplication>
#include <QPaintEvent>
#include <QPainter>
#include <QPushButton>

namespace ui {

namespace {

constexpr int kFrame = 16; // ms between two layouts of a growing message, at least

} // namespace

TranscriptView::TranscriptView(QWidget* parent)
    : QAbstractScrollArea(parent), d(std::make_unique<Private>(*this)) {
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Messages"));
    viewport()->setMouseTracking(true);
    viewport()->setAutoFillBackground(false);
    viewport()->setAccessibleName(tr("Messages"));
    verticalScrollBar()->setAccessibleName(tr("Scroll the messages"));

    d->actions = new MessageActions(viewport());
    d->actions->hide();
    d->jump = new QPushButton(icon("arrow-down"), tr("New text"), viewport());
    d->jump->setToolTip(tr("Go to the end of the conversation"));
    d->jump->hide();
    d->error = new NoticeCard(viewport());
    d->error->hide();
    d->empty = new EmptyChatPage(viewport());

    const auto idAt = [this] {
        return d->actionsRow >= 0 ? d->model->at(d->actionsRow).message.id : 0;
    };
    connect(d->jump, &QPushButton::clicked, this, &TranscriptView::scrollToEnd);
    connect(d->error, &NoticeCard::remedyWished, this, &TranscriptView::remedyWished);
    connect(d->error, &NoticeCard::closed, this, [this] { emit remedyWished("close"); });
    connect(d->error, &NoticeCard::resized, this, [this] { d->settle(); });
    connect(d->empty, &EmptyChatPage::starterChosen, this, &TranscriptView::starterChosen);
    connect(d->actions, &MessageActions::copyWished, this, [this] {
        if (d->actionsRow >= 0) d->copyText(d->model->text(d->actionsRow), tr("Message copied"));
    });
    connect(d->actions, &MessageActions::editWished, this,
            [this, idAt] { emit editWished(idAt()); });
    connect(d->actions, &MessageActions::tryAgainWished, this,
            [this, idAt] { emit tryAgainWished(idAt()); });
    connect(d->actions, &MessageActions::continueWished, this,
            [this, idAt] { emit continueWished(idAt()); });
    connect(d->actions, &MessageActions::versionWished, this,
            [this, idAt](int version) { emit versionWished(idAt(), version); });
    d->computeTops();
}

TranscriptView::~TranscriptView() = default;

void TranscriptView::setModel(ConversationModel* model) {
    for (const QMetaObject::Connection& connection : std::as_const(d->connections))
        disconnect(connection);
    d->connections.clear();
    d->model = model;
    const auto reset = [this] {
        // Another version of the same chat keeps its place; another chat is shown from its end.
        std::vector<qint64> ids;
        for (int row = 0; row < d->rows(); ++row) ids.push_back(d->model->at(row).message.id);
        const bool same = !ids.empty() && !d->ids.empty() && ids[0] == d->ids[0] && ids[0] != 0;
        d->ids = std::move(ids);
        d->heights.assign(size_t(d->rows()), 0);
        d->known.assign(size_t(d->rows()), Private::Known::Estimate);
        d->forgetLayouts();
        d->anchor = d->cursor = {};
        d->mouseRow = d->focusRow = d->actionsRow = -1;
        d->hoveredRow = -1;
        d->showFocus = false;
        d->hits.clear();
        d->currentHit = -1;
        d->asked.clear();
        if (!same) {
            d->follow = true;
            d->findText.clear();
            d->thinkingOpen.clear();
            d->shown.clear();
        }
        d->error->hide();
        d->settle();
    };
    if (model) {
        d->connections << connect(model, &QAbstractItemModel::modelReset, this, reset);
        d->connections << connect(model, &QAbstractItemModel::rowsInserted, this,
                                  [this](const QModelIndex&, int first, int last) {
                                      // What stood last is no longer: its lines may change.
                                      if (first > 0)
                                          d->known[size_t(first) - 1] = Private::Known::Stale;
                                      for (int row = first; row <= last; ++row) {
                                          d->ids.push_back(d->model->at(row).message.id);
                                          d->heights.push_back(MessageLayout::estimate(
                                              d->content(row), d->columnWidth()));
                                          d->known.push_back(Private::Known::Estimate);
                                          if (d->model->at(row).message.role == engine::Role::User)
                                              d->follow = true;
                                      }
                                      d->settle();
                                  });
        d->connections << connect(model, &QAbstractItemModel::rowsRemoved, this,
                                  [this](const QModelIndex&, int first, int) {
                                      const auto size = size_t(first);
                                      d->ids.resize(size);
                                      d->heights.resize(size);
                                      d->known.resize(size);
                                      d->layouts.erase(d->layouts.lower_bound(first),
                                                       d->layouts.end());
                                      if (first > 0) d->known[size - 1] = Private::Known::Stale;
                                      d->anchor = d->cursor = {};
                                      d->mouseRow = d->actionsRow = -1;
                                      d->hoveredRow = -1;
                                      d->focusRow = std::min(d->focusRow, first - 1);
                                      d->hits.clear();
                                      d->currentHit = -1;
                                      d->settle();
                                  });
        d->connections << connect(model, &QAbstractItemModel::dataChanged, this,
                                  [this](const QModelIndex& from, const QModelIndex& to) {
                                      for (int row = from.row(); row <= to.row(); ++row) {
                                          d->ids[size_t(row)] = d->model->at(row).message.id;
                                          d->known[size_t(row)] = Private::Known::Stale;
                                      }
                                      d->settle();
                                  });
        const auto grow = [this] {
            if (d->rows() == 0) return;
            d->known[size_t(d->rows()) - 1] = Private::Known::Stale;
            // A layout that took long is not asked for again at once, so that the window stays
            // free.
            if (!d->growTimer.isActive())
                d->growTimer.start(std::max(kFrame, int(std::lround(d->growCost * 3))), this);
        };
        d->connections << connect(model, &ConversationModel::lastRowGrew, this, grow);
        d->connections << connect(model, &ConversationModel::activityChanged, this, [this, grow] {
            const std::optional<Notice>& card = d->model->errorCard();
            if (card && (!d->error->isVisibleTo(viewport()) || d->error->notice() != *card)) {
                d->error->setNotice(*card);
                d->error->show();
                d->follow = d->follow || d->atEnd();
                d->settle();
            } else if (!card && d->error->isVisibleTo(viewport())) {
                d->error->hide();
                d->settle();
            }
            grow();
        });
        d->connections << connect(model, &ConversationModel::pictureArrived, this,
                                  [this](const QString& hash) {
                                      for (auto& [row, layout] : d->layouts)
                                          layout.pictureArrived(hash, d->model->picture(hash));
                                      viewport()->update();
                                  });
    }
    d->ids.clear();
    reset();
}

void TranscriptView::setEmptyChat(const EmptyChat& empty) {
    d->empty->setContent(empty);
}

void TranscriptView::setAnswering(bool answering) {
    if (d->answering == answering) return;
    d->answering = answering;
    if (d->rows() > 0) d->refreshRow(d->rows() - 1);
}

void TranscriptView::scrollToEnd() {
    d->follow = true;
    d->jump->hide();
    d->settle();
}

void TranscriptView::scrollToMessage(qint64 messageId, const QString& mark) {
    const int row = d->model ? d->model->rowOf(messageId) : -1;
    if (row < 0) return;
    d->findText = mark;
    d->hits.clear();
    d->currentHit = -1;
    if (!mark.isEmpty()) {
        d->hits.push_back({row, 0});
        d->currentHit = 0;
        d->showHit();
    } else {
        d->scrollToPlace(row, 0);
    }
    viewport()->update();
}

bool TranscriptView::followsEnd() const {
    return d->follow;
}

TranscriptView::FindResult TranscriptView::find(const QString& text, int step) {
    const bool fresh = text != d->findText || d->hits.empty();
    d->findText = text;
    if (fresh) {
        d->hits.clear();
        d->currentHit = -1;
        for (int row = 0; row < d->rows() && !text.isEmpty(); ++row) {
            const QString& source = d->model->text(row);
            int nth = 0;
            for (qsizetype at = 0; (at = source.indexOf(text, at, Qt::CaseInsensitive)) >= 0;
                 at += text.size())
                d->hits.push_back({row, nth++});
        }
        const int visible = d->rowAt(d->scroll());
        for (size_t i = 0; i < d->hits.size() && d->currentHit < 0; ++i)
            if (d->hits[i].row >= visible) d->currentHit = int(i);
        if (d->currentHit < 0 && !d->hits.empty()) d->currentHit = 0;
    } else if (step != 0) {
        const int count = int(d->hits.size());
        d->currentHit = (d->currentHit + step + count) % count;
    }
    d->showHit();
    viewport()->update();
    return {int(d->hits.size()), d->currentHit + 1};
}

void TranscriptView::clearFind() {
    d->findText.clear();
    d->hits.clear();
    d->currentHit = -1;
    viewport()->update();
}

QString TranscriptView::selectedText() const {
    if (d->anchor.row < 0 || d->anchor == d->cursor) return {};
    const Private::Place from = std::min(d->anchor, d->cursor), to = std::max(d->anchor, d->cursor);
    QStringList parts;
    for (int row = from.row; row <= to.row && row < d->rows(); ++row) {
        // Messages within are taken as they were written; only the ends need a layout.
        if (row != from.row && row != to.row) {
            parts += d->model->text(row);
            continue;
        }
        const QString text = d->layoutOf(row).text();
        const TextRange range = d->selectionIn(row, int(text.size()));
        parts += text.mid(range.from, range.to - range.from);
    }
    QString text = parts.join("\n\n");
    text.replace(QChar(QChar::LineSeparator), '\n');
    return text;
}

bool TranscriptView::copy() {
    const QString text = selectedText();
    if (text.isEmpty()) return false;
    d->copyText(text, tr("Copied"));
    return true;
}

void TranscriptView::selectAll() {
    if (d->rows() == 0) return;
    const int last = d->rows() - 1;
    d->anchor = {0, 0};
    d->cursor = {last, int(d->layoutOf(last).text().size())};
    viewport()->update();
}

QString TranscriptView::lastAnswer() const {
    for (int row = d->rows() - 1; row >= 0; --row)
        if (d->model->at(row).message.role == engine::Role::Assistant) return d->model->text(row);
    return {};
}

qint64 TranscriptView::focusedMessage() const {
    return d->focusRow >= 0 && d->focusRow < d->rows() ? d->model->at(d->focusRow).message.id : 0;
}

int TranscriptView::laidOutRows() const {
    return int(d->layouts.size());
}

void TranscriptView::paintEvent(QPaintEvent* event) {
    const Colours& c = colours();
    QPainter painter(viewport());
    painter.fillRect(event->rect(), c.window);
    painter.setLayoutDirection(Qt::LeftToRight); // each block knows its own direction
    if (d->rows() == 0) return;
    const double port = viewport()->height();
    for (int row = d->rowAt(d->scroll()); row < d->rows(); ++row) {
        const QPointF origin = d->rowOrigin(row);
        if (origin.y() > port) break;
        const auto found = d->layouts.find(row);
        if (found == d->layouts.end()) continue; // the next settle() makes it
        const MessageLayout& layout = found->second;
        MessageLayout::Paint paint;
        paint.clip = QRectF(event->rect()).translated(-origin);
        paint.selection = d->selectionIn(row, int(layout.text().size()));
        paint.marks = d->marksIn(layout.text());
        if (d->currentHit >= 0 && d->hits[size_t(d->currentHit)].row == row && !paint.marks.empty())
            paint.currentMark =
                std::min(d->hits[size_t(d->currentHit)].nth, int(paint.marks.size()) - 1);
        if (d->hoveredRow == row) {
            paint.hovered = d->hovered;
            paint.hoveredBlock = d->hoveredBlock;
        }
        paint.focused = d->showFocus && hasFocus() && d->focusRow == row;
        painter.save();
        painter.translate(origin);
        layout.paint(painter, paint);
        const MessageRow& value = d->model->at(row);
        // The version stays readable while the buttons are away.
        if (value.versions > 1 && (d->actionsRow != row || !d->actions->isVisible())) {
            painter.setFont(captionFont());
            painter.setPen(c.muted);
            const bool right = (value.message.role == engine::Role::User) != isRightToLeft();
            painter.drawText(layout.footerRect(),
                             (right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter,
                             tr("‹ %1 of %2 ›").arg(value.version).arg(value.versions));
        }
        painter.restore();
    }
}

} // namespace ui
