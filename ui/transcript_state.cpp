#include "ui/transcript_state.h"

#include "ui/message_actions.h"
#include "ui/notice_card.h"
#include "ui/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QLayout>
#include <QPushButton>
#include <QUrl>

namespace ui {

namespace {

constexpr int kFollowWithin = 40; // px of the end
constexpr double kTop = 20;       // above the first message
constexpr int kSpareRows = 20;    // laid out beyond what is visible

} // namespace

double TranscriptView::Private::columnWidth() const {
    const double margin = q.viewport()->width() < 560 ? 16 : 24;
    return std::max(120.0, std::min<double>(ems(46), q.viewport()->width() - 2 * margin));
}

MessageContent TranscriptView::Private::content(int row) const {
    const qint64 id = model->at(row).message.id;
    return {*model,
            row,
            row == rows() - 1,
            answering,
            thinkingOpen.contains(id),
            shown.value(id, kShownAtFirst),
            q.isRightToLeft()};
}

void TranscriptView::Private::forgetLayouts() {
    layouts.clear();
    std::fill(known.begin(), known.end(), Known::Estimate);
    for (int row = 0; row < rows(); ++row)
        heights[size_t(row)] = MessageLayout::estimate(content(row), columnWidth());
}

MessageLayout& TranscriptView::Private::layoutOf(int row) {
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

void TranscriptView::Private::computeTops() {
    tops.resize(heights.size() + 1);
    double y = kTop;
    for (size_t i = 0; i < heights.size(); ++i) {
        tops[i] = y;
        y += heights[i];
    }
    tops[heights.size()] = y;
}

double TranscriptView::Private::endHeight() const {
    double height = 12;
    if (error->isVisibleTo(q.viewport())) height += errorHeight() + 16;
    return height;
}

int TranscriptView::Private::errorHeight() const {
    const int width = int(columnWidth());
    return error->layout() ? error->layout()->totalHeightForWidth(width) : 0;
}

void TranscriptView::Private::settle(bool stick) {
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

bool TranscriptView::Private::atEnd() const {
    const QScrollBar* bar = q.verticalScrollBar();
    return bar->value() >= bar->maximum() - kFollowWithin;
}

void TranscriptView::Private::placeWidgets() {
    // Of a chat whose first message failed, the card says why.
    empty->setVisible(rows() == 0 && !error->isVisibleTo(q.viewport()));
    empty->setGeometry(q.viewport()->rect());
    if (error->isVisibleTo(q.viewport()))
        error->setGeometry(int(columnLeft()), int(tops.back() - scroll() + 4), int(columnWidth()),
                           errorHeight());
    jump->adjustSize();
    jump->move((q.viewport()->width() - jump->width()) / 2,
               q.viewport()->height() - jump->height() - 12);
    if (atEnd()) jump->hide();
    const int row = focusRow >= 0 && showFocus ? focusRow : mouseRow;
    placeActions(row);
}

void TranscriptView::Private::placeActions(int row) {
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

TranscriptView::Private::Place TranscriptView::Private::placeAt(const QPointF& point) {
    if (rows() == 0) return {};
    const int row = rowAt(point.y() + scroll());
    return {row, layoutOf(row).positionAt(point - rowOrigin(row))};
}

TextRange TranscriptView::Private::selectionIn(int row, int length) const {
    if (anchor.row < 0 || anchor == cursor) return {};
    const Place from = std::min(anchor, cursor), to = std::max(anchor, cursor);
    if (row < from.row || row > to.row) return {};
    return {row == from.row ? from.position : 0,
            row == to.row ? std::min(to.position, length) : length};
}

std::vector<TextRange> TranscriptView::Private::marksIn(const QString& text) const {
    std::vector<TextRange> out;
    if (findText.isEmpty()) return out;
    for (qsizetype at = 0; (at = text.indexOf(findText, at, Qt::CaseInsensitive)) >= 0;
         at += findText.size())
        out.push_back({int(at), int(at + findText.size())});
    return out;
}

void TranscriptView::Private::setHover(int row, int block, const QString& target) {
    if (row == hoveredRow && block == hoveredBlock && target == hovered) return;
    hoveredRow = row;
    hoveredBlock = block;
    hovered = target;
    q.viewport()->update();
}

void TranscriptView::Private::mouseMovedTo(const QPoint& point) {
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

void TranscriptView::Private::copyText(const QString& text, const QString& what) {
    QApplication::clipboard()->setText(text);
    emit q.copied(what);
}

void TranscriptView::Private::refreshRow(int row) {
    known[size_t(row)] = Known::Stale;
    settle();
}

void TranscriptView::Private::act(int row, int block, const QString& target) {
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
            if (QString::fromStdString(file.sha256) == hash)
                name = QString::fromStdString(file.fileName);
        emit q.pictureChosen(hash, name);
    }
}

QString TranscriptView::Private::suggestedName(const QString& language) {
    static const QHash<QString, QString> endings = {
        {"python", "py"}, {"javascript", "js"}, {"typescript", "ts"}, {"c++", "cpp"},
        {"bash", "sh"},   {"shell", "sh"},      {"rust", "rs"},       {"markdown", "md"},
        {"ruby", "rb"},   {"csharp", "cs"},     {"kotlin", "kt"},     {"yml", "yaml"},
        {"text", "txt"},  {"", "txt"}};
    QString ending = endings.value(language.toLower(), language.toLower());
    ending.removeIf([](QChar c) { return !c.isLetterOrNumber(); });
    return "code." + (ending.isEmpty() || ending.size() > 8 ? QString("txt") : ending);
}

void TranscriptView::Private::setFocusRow(int row) {
    focusRow = std::clamp(row, 0, rows() - 1);
    showFocus = true;
    follow = false;
    settleOn(focusRow);
    const engine::Message& message = model->at(focusRow).message;
    const QString text = model->text(focusRow).left(1000);
    q.setAccessibleDescription(message.role == engine::Role::User ? tr("You: %1").arg(text)
                                                                  : tr("Answer: %1").arg(text));
}

void TranscriptView::Private::settleOn(int row) {
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

void TranscriptView::Private::scrollToPlace(int row, int position) {
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

void TranscriptView::Private::showHit() {
    if (currentHit < 0) return;
    const FindHit& hit = hits[size_t(currentHit)];
    const auto marks = marksIn(layoutOf(hit.row).text());
    const int position =
        marks.empty() ? 0 : marks[std::min<size_t>(size_t(hit.nth), marks.size() - 1)].from;
    scrollToPlace(hit.row, position);
    q.viewport()->update();
}

} // namespace ui
