#include "ui/transcript_view.h"

#include "ui/message_actions.h"
#include "ui/message_layout.h"
#include "ui/notice_card.h"
#include "ui/theme.h"

#include <QApplication>
#include <QBasicTimer>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QElapsedTimer>
#include <QHash>
#include <QLayout>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QScrollBar>
#include <QSet>
#include <QTimerEvent>
#include <QToolTip>
#include <QUrl>

#include <algorithm>
#include <cmath>
#include <map>

namespace ui {

namespace {

constexpr int kFollowWithin = 40; // px of the end
constexpr double kTop = 20;       // above the first message
constexpr int kFrame = 16;        // ms between two layouts of a growing message, at least
constexpr int kSpareRows = 20;    // laid out beyond what is visible

} // namespace

// The geometry of all rows, what is laid out of them, and the interaction with them.
class TranscriptView::Private {
public:
    explicit Private(TranscriptView& view) : q(view) {}

    struct Place { // in the text of a message
        int row = -1;
        int position = 0;
        bool operator==(const Place&) const = default;
        bool operator<(const Place& other) const {
            return row != other.row ? row < other.row : position < other.position;
        }
    };
    enum class Known : char { Estimate, Exact, Stale };

    TranscriptView& q;
    ConversationModel* model = nullptr;
    QList<QMetaObject::Connection> connections;
    bool answering = false;

    std::vector<double> heights;
    std::vector<Known> known;
    std::vector<double> tops; // of each row, and of the end
    std::map<int, MessageLayout> layouts;
    std::vector<qint64> ids;
    bool settling = false;
    bool follow = true;

    QSet<qint64> thinkingOpen;
    QHash<qint64, int> shown;
    QSet<QString> asked; // pictures

    Place anchor, cursor;
    bool selecting = false;
    int dragRow = -1, dragBlock = -1;
    double dragFactor = 0;
    QPoint pressed, lastMouse;
    QString pressedTarget;
    QString hovered;
    int hoveredRow = -1, hoveredBlock = -1, mouseRow = -1;
    int focusRow = -1;
    bool showFocus = false;

    QString findText;
    struct FindHit {
        int row;
        int nth; // occurrence in its message
    };
    std::vector<FindHit> hits;
    int currentHit = -1;

    QBasicTimer growTimer, dragTimer;
    double growCost = 0; // ms of the latest layout of the growing message

    MessageActions* actions = nullptr;
    int actionsRow = -1;
    QPushButton* jump = nullptr;
    NoticeCard* error = nullptr;
    EmptyChatPage* empty = nullptr;

    int rows() const { return model ? model->rowCount() : 0; }
    double columnWidth() const {
        const double margin = q.viewport()->width() < 560 ? 16 : 24;
        return std::max(120.0, std::min<double>(ems(46), q.viewport()->width() - 2 * margin));
    }
    double columnLeft() const { return std::floor((q.viewport()->width() - columnWidth()) / 2); }
    double scroll() const { return q.verticalScrollBar()->value(); }
    QPointF rowOrigin(int row) const { return QPointF(columnLeft(), tops[size_t(row)] - scroll()); }

    MessageContent content(int row) const {
        const qint64 id = model->at(row).message.id;
        return {*model, row, row == rows() - 1, answering, thinkingOpen.contains(id),
                shown.value(id, kShownAtFirst), q.isRightToLeft()};
    }

    void forgetLayouts() {
        layouts.clear();
        std::fill(known.begin(), known.end(), Known::Estimate);
        for (int row = 0; row < rows(); ++row)
            heights[size_t(row)] = MessageLayout::estimate(content(row), columnWidth());
    }

    MessageLayout& layoutOf(int row) {
        const auto found = layouts.find(row);
        if (found != layouts.end() && known[size_t(row)] == Known::Exact) return found->second;
        MessageLayout& layout = layouts[row];
        layout.update(content(row), columnWidth());
        heights[size_t(row)] = layout.height();
        known[size_t(row)] = Known::Exact;
        for (const QString& hash : layout.missingPictures()) {
            if (asked.contains(hash)) continue;
            asked.insert(hash);
            emit q.pictureWanted(hash);
        }
        return layout;
    }

    void computeTops() {
        tops.resize(heights.size() + 1);
        double y = kTop;
        for (size_t i = 0; i < heights.size(); ++i) {
            tops[i] = y;
            y += heights[i];
        }
        tops[heights.size()] = y;
    }

    int rowAt(double y) const { // y in content; the nearest row
        if (heights.empty()) return -1;
        const auto after = std::upper_bound(tops.begin(), tops.end() - 1, y);
        return std::clamp(int(after - tops.begin()) - 1, 0, rows() - 1);
    }

    double endHeight() const {
        double height = 12;
        if (error->isVisibleTo(q.viewport())) height += errorHeight() + 16;
        return height;
    }
    int errorHeight() const {
        const int width = int(columnWidth());
        return error->layout() ? error->layout()->totalHeightForWidth(width) : 0;
    }

    // Lays out what is visible until nothing moves any more, and keeps the view where the person left it.
    // Without `stick` a view that follows the end is not moved there: the person is scrolling.
    void settle(bool stick = true) {
        if (settling) return;
        settling = true;
        const double port = q.viewport()->height();
        QScrollBar* bar = q.verticalScrollBar();
        for (int round = 0; round < 12; ++round) {
            computeTops();
            const int end = int(std::ceil(tops.back() + endHeight()));
            bar->setPageStep(int(port));
            bar->setSingleStep(ems(3));
            bar->setRange(0, std::max(0, end - int(port)));
            if (follow && stick) bar->setValue(bar->maximum());
            bool moved = false;
            double shift = 0;
            const int first = rowAt(scroll());
            for (int row = first; row >= 0 && row < rows(); ++row) {
                if (tops[size_t(row)] > scroll() + port) break;
                const double before = heights[size_t(row)];
                const bool guess = known[size_t(row)] == Known::Estimate;
                layoutOf(row);
                const double change = heights[size_t(row)] - before;
                if (std::abs(change) < 0.5) continue;
                moved = true;
                // A guess that was wrong above the upper edge must not move what is read.
                if (guess && tops[size_t(row)] < scroll()) shift += change;
            }
            if (!moved) break;
            if (!(follow && stick) && shift != 0) {
                computeTops();
                bar->setRange(0, std::max(0, int(std::ceil(tops.back() + endHeight() - port))));
                bar->setValue(int(std::lround(scroll() + shift)));
            }
        }
        const int first = rowAt(scroll()), last = rowAt(scroll() + port);
        for (auto it = layouts.begin(); it != layouts.end();)
            if (it->first < first - kSpareRows || it->first > last + kSpareRows)
                it = layouts.erase(it);
            else
                ++it;
        settling = false;
        placeWidgets();
        q.viewport()->update();
    }

    bool atEnd() const {
        const QScrollBar* bar = q.verticalScrollBar();
        return bar->value() >= bar->maximum() - kFollowWithin;
    }

    void placeWidgets() {
        empty->setVisible(rows() == 0);
        empty->setGeometry(q.viewport()->rect());
        if (error->isVisibleTo(q.viewport()))
            error->setGeometry(int(columnLeft()), int(tops.back() - scroll() + 4), int(columnWidth()), errorHeight());
        jump->adjustSize();
        jump->move((q.viewport()->width() - jump->width()) / 2, q.viewport()->height() - jump->height() - 12);
        if (atEnd()) jump->hide();
        const int row = focusRow >= 0 && showFocus ? focusRow : mouseRow;
        placeActions(row);
    }

    void placeActions(int row) {
        const bool growing = answering && row == rows() - 1;
        if (row < 0 || row >= rows() || growing) {
            if (!actions->isAncestorOf(QApplication::focusWidget())) {
                actions->hide();
                actionsRow = -1;
            }
            return;
        }
        const MessageRow& value = model->at(row);
        const bool user = value.message.role == engine::Role::User;
        MessageAbilities able;
        able.copy = true;
        able.edit = user && !answering;
        able.tryAgain = !user && !answering;
        able.resume = !user && !answering && row == rows() - 1 &&
                      value.message.state != engine::MessageState::Complete;
        able.version = value.version;
        able.versions = value.versions;
        able.canChangeVersion = !answering;
        actions->setAbilities(able);
        actionsRow = row;
        const MessageLayout& layout = layoutOf(row);
        const QRectF footer = layout.footerRect().translated(rowOrigin(row));
        const bool right = user != q.isRightToLeft();
        const double x = right ? footer.right() - actions->width() : footer.left() - 4;
        actions->move(int(x), int(footer.top() + 1));
        actions->show();
    }

    Place placeAt(const QPointF& point) {
        if (rows() == 0) return {};
        const int row = rowAt(point.y() + scroll());
        return {row, layoutOf(row).positionAt(point - rowOrigin(row))};
    }

    TextRange selectionIn(int row, int length) const {
        if (anchor.row < 0 || anchor == cursor) return {};
        const Place from = std::min(anchor, cursor), to = std::max(anchor, cursor);
        if (row < from.row || row > to.row) return {};
        return {row == from.row ? from.position : 0, row == to.row ? std::min(to.position, length) : length};
    }

    std::vector<TextRange> marksIn(const QString& text) const {
        std::vector<TextRange> out;
        if (findText.isEmpty()) return out;
        for (qsizetype at = 0; (at = text.indexOf(findText, at, Qt::CaseInsensitive)) >= 0; at += findText.size())
            out.push_back({int(at), int(at + findText.size())});
        return out;
    }

    void setHover(int row, int block, const QString& target) {
        if (row == hoveredRow && block == hoveredBlock && target == hovered) return;
        hoveredRow = row;
        hoveredBlock = block;
        hovered = target;
        q.viewport()->update();
    }

    void mouseMovedTo(const QPoint& point) {
        lastMouse = point;
        const int row = rows() ? rowAt(point.y() + scroll()) : -1;
        mouseRow = row;
        if (row >= 0) {
            const QPointF inner = point - rowOrigin(row);
            MessageLayout& layout = layoutOf(row);
            if (const auto hit = layout.hit(inner)) {
                setHover(row, hit->block, hit->what.target);
                q.viewport()->setCursor(Qt::PointingHandCursor);
            } else {
                setHover(-1, -1, {});
                q.viewport()->setCursor(layout.overText(inner) ? Qt::IBeamCursor : Qt::ArrowCursor);
            }
        }
        if (!showFocus) placeActions(row);
    }

    void copyText(const QString& text, const QString& what) {
        QApplication::clipboard()->setText(text);
        emit q.copied(what);
    }

    void refreshRow(int row) {
        known[size_t(row)] = Known::Stale;
        settle();
    }

    void act(int row, int block, const QString& target) {
        const qint64 id = model->at(row).message.id;
        if (!target.startsWith("action:")) {
            emit q.linkChosen(QUrl(target));
        } else if (target == "action:continue") {
            emit q.continueWished(id);
        } else if (target == "action:try-again") {
            emit q.tryAgainWished(id);
        } else if (target == "action:answer-now") {
            emit q.answerNowWished();
        } else if (target == "action:more") {
            shown[id] = shown.value(id, kShownAtFirst) + kShownMore;
            follow = false;
            refreshRow(row);
        } else if (target == "action:thinking") {
            if (!thinkingOpen.remove(id)) thinkingOpen.insert(id);
            follow = follow && answering;
            refreshRow(row);
        } else if (target == "action:thinking-copy") {
            copyText(model->thinking(row).trimmed(), tr("Thinking copied"));
        } else if (target == "action:code-copy") {
            copyText(layoutOf(row).blockText(block), tr("Code copied"));
        } else if (target == "action:code-save") {
            const QString language = layoutOf(row).codeLanguage(block);
            emit q.saveTextWished(suggestedName(language), layoutOf(row).blockText(block));
        } else if (target == "action:code-wrap") {
            layoutOf(row).toggleWrap(block);
            follow = false;
            refreshRow(row);
        } else if (target.startsWith("action:picture ")) {
            const QString hash = target.section(' ', 1);
            QString name;
            for (const engine::Attachment& file : model->at(row).message.attachments)
                if (QString::fromStdString(file.sha256) == hash) name = QString::fromStdString(file.fileName);
            emit q.pictureChosen(hash, name);
        }
    }

    static QString suggestedName(const QString& language) {
        static const QHash<QString, QString> endings = {
            {"python", "py"}, {"javascript", "js"}, {"typescript", "ts"}, {"c++", "cpp"}, {"bash", "sh"},
            {"shell", "sh"}, {"rust", "rs"}, {"markdown", "md"}, {"ruby", "rb"}, {"csharp", "cs"},
            {"kotlin", "kt"}, {"yml", "yaml"}, {"text", "txt"}, {"", "txt"}};
        QString ending = endings.value(language.toLower(), language.toLower());
        ending.removeIf([](QChar c) { return !c.isLetterOrNumber(); });
        return "code." + (ending.isEmpty() || ending.size() > 8 ? QString("txt") : ending);
    }

    void setFocusRow(int row) {
        focusRow = std::clamp(row, 0, rows() - 1);
        showFocus = true;
        follow = false;
        settleOn(focusRow);
        const engine::Message& message = model->at(focusRow).message;
        const QString text = model->text(focusRow).left(1000);
        q.setAccessibleDescription(message.role == engine::Role::User ? tr("You: %1").arg(text)
                                                                      : tr("Answer: %1").arg(text));
    }

    // Brings the row into view with as little movement as possible.
    void settleOn(int row) {
        for (int round = 0; round < 3; ++round) {
            layoutOf(row);
            settle();
            const double top = tops[size_t(row)], bottom = top + heights[size_t(row)];
            const double port = q.viewport()->height();
            double to = scroll();
            if (bottom > to + port) to = bottom - port;
            if (top - 8 < to) to = top - 8;
            if (std::abs(to - scroll()) < 1) break;
            q.verticalScrollBar()->setValue(int(to));
        }
        follow = atEnd();
        settle();
    }

    void scrollToPlace(int row, int position) {
        follow = false;
        for (int round = 0; round < 4; ++round) {
            MessageLayout& layout = layoutOf(row);
            computeTops();
            const QRectF rect = layout.rectOf(position);
            const double y = tops[size_t(row)] + rect.top();
            const double port = q.viewport()->height();
            settle();
            if (y >= scroll() + 24 && y + rect.height() <= scroll() + port - 24) break;
            q.verticalScrollBar()->setValue(int(y - port / 3));
            settle();
        }
        follow = atEnd();
    }

    void showHit() {
        if (currentHit < 0) return;
        const FindHit& hit = hits[size_t(currentHit)];
        const auto marks = marksIn(layoutOf(hit.row).text());
        const int position = marks.empty() ? 0 : marks[std::min<size_t>(size_t(hit.nth), marks.size() - 1)].from;
        scrollToPlace(hit.row, position);
        q.viewport()->update();
    }
};

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

    const auto idAt = [this] { return d->actionsRow >= 0 ? d->model->at(d->actionsRow).message.id : 0; };
    connect(d->jump, &QPushButton::clicked, this, &TranscriptView::scrollToEnd);
    connect(d->error, &NoticeCard::remedyWished, this, &TranscriptView::remedyWished);
    connect(d->error, &NoticeCard::closed, this, [this] { emit remedyWished("close"); });
    connect(d->error, &NoticeCard::resized, this, [this] { d->settle(); });
    connect(d->empty, &EmptyChatPage::starterChosen, this, &TranscriptView::starterChosen);
    connect(d->actions, &MessageActions::copyWished, this, [this] {
        if (d->actionsRow >= 0) d->copyText(d->model->text(d->actionsRow), tr("Message copied"));
    });
    connect(d->actions, &MessageActions::editWished, this, [this, idAt] { emit editWished(idAt()); });
    connect(d->actions, &MessageActions::tryAgainWished, this, [this, idAt] { emit tryAgainWished(idAt()); });
    connect(d->actions, &MessageActions::continueWished, this, [this, idAt] { emit continueWished(idAt()); });
    connect(d->actions, &MessageActions::versionWished, this,
            [this, idAt](int version) { emit versionWished(idAt(), version); });
    d->computeTops();
}

TranscriptView::~TranscriptView() = default;

void TranscriptView::setModel(ConversationModel* model) {
    for (const QMetaObject::Connection& connection : std::as_const(d->connections)) disconnect(connection);
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
                                      if (first > 0) d->known[size_t(first) - 1] = Private::Known::Stale;
                                      for (int row = first; row <= last; ++row) {
                                          d->ids.push_back(d->model->at(row).message.id);
                                          d->heights.push_back(
                                              MessageLayout::estimate(d->content(row), d->columnWidth()));
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
                                      d->layouts.erase(d->layouts.lower_bound(first), d->layouts.end());
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
            // A layout that took long is not asked for again at once, so that the window stays free.
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
        d->connections << connect(model, &ConversationModel::pictureArrived, this, [this](const QString& hash) {
            for (auto& [row, layout] : d->layouts) layout.pictureArrived(hash, d->model->picture(hash));
            viewport()->update();
        });
    }
    d->ids.clear();
    reset();
}

void TranscriptView::setEmptyChat(const EmptyChat& empty) { d->empty->setContent(empty); }

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

bool TranscriptView::followsEnd() const { return d->follow; }

TranscriptView::FindResult TranscriptView::find(const QString& text, int step) {
    const bool fresh = text != d->findText || d->hits.empty();
    d->findText = text;
    if (fresh) {
        d->hits.clear();
        d->currentHit = -1;
        for (int row = 0; row < d->rows() && !text.isEmpty(); ++row) {
            const QString& source = d->model->text(row);
            int nth = 0;
            for (qsizetype at = 0; (at = source.indexOf(text, at, Qt::CaseInsensitive)) >= 0; at += text.size())
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

int TranscriptView::laidOutRows() const { return int(d->layouts.size()); }

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
            paint.currentMark = std::min(d->hits[size_t(d->currentHit)].nth, int(paint.marks.size()) - 1);
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
            painter.drawText(layout.footerRect(), (right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter,
                             tr("‹ %1 of %2 ›").arg(value.version).arg(value.versions));
        }
        painter.restore();
    }
}

void TranscriptView::resizeEvent(QResizeEvent*) {
    const int row = d->rows() ? d->rowAt(d->scroll()) : -1;
    double within = 0;
    const bool widthChanged = row >= 0 && d->layouts.count(row) && d->layouts.at(row).footerRect().width() != d->columnWidth();
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
    if (d->mouseRow >= 0 && viewport()->underMouse()) d->mouseMovedTo(viewport()->mapFromGlobal(QCursor::pos()));
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
        d->layoutOf(d->dragRow).scrollBlock(d->dragBlock, (point.x() - d->pressed.x()) * d->dragFactor);
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
        if (d->focusRow >= 0 && d->showFocus && !d->model->thinking(d->focusRow).trimmed().isEmpty()) {
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
    if (!selectedText().isEmpty()) menu->addAction(icon("copy"), tr("Copy Selection"), this, [this] { copy(); });
    const auto hit = d->layoutOf(row).hit(local - d->rowOrigin(row).toPoint());
    if (hit && !byKey && !hit->what.target.startsWith("action:"))
        menu->addAction(tr("Copy Link"), this, [this, link = hit->what.target] { d->copyText(link, tr("Link copied")); });
    menu->addAction(icon("copy"), tr("Copy Message"), this,
                    [this, row] { if (row < d->rows()) d->copyText(d->model->text(row), tr("Message copied")); });
    if (!d->answering && user)
        menu->addAction(icon("edit"), tr("Edit"), this, [this, id] { emit editWished(id); });
    if (!d->answering && !user)
        menu->addAction(icon("retry"), tr("Try Again"), this, [this, id] { emit tryAgainWished(id); });
    menu->addSeparator();
    menu->addAction(tr("Select All"), this, [this] { selectAll(); });
    menu->popup(byKey ? viewport()->mapToGlobal(QPoint(int(d->columnLeft()), 20)) : event->globalPos());
}

void TranscriptView::focusInEvent(QFocusEvent* event) {
    if (event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason ||
        event->reason() == Qt::ShortcutFocusReason) {
        d->showFocus = d->rows() > 0;
        if (d->focusRow < 0 && d->rows() > 0) d->focusRow = d->rowAt(d->scroll() + viewport()->height() - 60);
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
        d->cursor = d->placeAt(QPointF(d->lastMouse.x(), std::clamp(d->lastMouse.y(), 0, viewport()->height())));
        viewport()->update();
    } else {
        QAbstractScrollArea::timerEvent(event);
    }
}

} // namespace ui
