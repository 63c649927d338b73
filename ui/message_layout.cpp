#include "ui/message_layout.h"

#include "ui/theme.h"

#include <QCoreApplication>
#include <QFontInfo>
#include <QFontMetricsF>
#include <QLocale>

#include <algorithm>
#include <cmath>

namespace ui {

namespace {

constexpr double kBoxPadX = 14;
constexpr double kBoxPadY = 10;
constexpr int kDeepest = 6; // levels of lists and quotes that are still indented

QString say(const char* text) {
    return QCoreApplication::translate("ui::TranscriptView", text);
}
#define SAY(text) say(QT_TRANSLATE_NOOP("ui::TranscriptView", text))

ParagraphStyle bodyStyle() {
    return {bodyFont(), colours().text, 1.5, {}};
}
ParagraphStyle mutedStyle() {
    return {bodyFont(), colours().muted, 1.5, {}};
}

ParagraphStyle headingStyle(int level) {
    static const double sizes[] = {1.4, 1.22, 1.1, 1.0, 1.0, 1.0};
    ParagraphStyle style = bodyStyle();
    const double pixels = QFontInfo(style.font).pixelSize() * sizes[std::clamp(level, 1, 6) - 1];
    style.font.setPixelSize(int(std::lround(pixels)));
    style.font.setWeight(QFont::DemiBold);
    style.lineHeight = 1.35;
    return style;
}

QString duration(double seconds) {
    if (seconds < 60)
        return SAY("%1 s").arg(QLocale().toString(int(std::lround(std::max(1.0, seconds)))));
    const int whole = int(std::lround(seconds));
    return SAY("%1 min %2 s")
        .arg(QLocale().toString(whole / 60))
        .arg(QLocale().toString(whole % 60));
}

QString clock(double seconds) {
    const int whole = int(seconds);
    return QString("%1:%2").arg(whole / 60).arg(whole % 60, 2, 10, QChar('0'));
}

// A span over the words of `link` in `text`.
MarkdownSpan linkOver(const QString& text, const QString& link, const QString& target) {
    MarkdownSpan span;
    span.start = int(text.indexOf(link));
    span.length = int(link.size());
    span.link = target;
    return span;
}

} // namespace

double MessageLayout::footerHeight() {
    return std::max(30.0, QFontMetricsF(captionFont()).height() + 12);
}

double MessageLayout::estimate(const MessageContent& content, double columnWidth) {
    const engine::Message& message = content.model.at(content.row).message;
    const double em = QFontInfo(bodyFont()).pixelSize();
    const bool user = message.role == engine::Role::User;
    const double width = user ? columnWidth * 0.8 - 2 * kBoxPadX : columnWidth;
    const double perLine = std::max(8.0, width / (em * 0.5));
    double characters = double(message.text.size());
    if (user) characters = std::min(characters, double(kShownAtFirst));
    double height = (std::floor(characters / perLine) + 1) * em * 1.5 + footerHeight();
    if (user) height += 2 * kBoxPadY;
    if (user)
        for (const engine::Attachment& file : message.attachments)
            height += file.width > 0 ? 200 : 40;
    if (!message.thinking.empty()) height += em * 1.5 + 8;
    return std::ceil(height); // whole pixels, so that text is drawn alike wherever it stands
}

void MessageLayout::update(const MessageContent& content, double columnWidth) {
    m_user = content.model.at(content.row).message.role == engine::Role::User;
    m_width = columnWidth;
    m_text.clear();
    m_y = 0;
    m_cursor = false;
    m_thinkingBar = {};
    m_thinkingOpens = false;
    if (m_user)
        layOutUser(content, columnWidth);
    else
        layOutAnswer(content, columnWidth);
    m_height = std::ceil(m_y) + footerHeight();
}

void MessageLayout::place(std::unique_ptr<TextBlock> block, double x, double width,
                          double gapBefore, bool selectable) {
    if (!m_blocks.empty()) m_y += gapBefore;
    block->layOut(width);
    Placed placed;
    placed.at = QPointF(x, std::round(m_y));
    m_y = placed.at.y() + block->height();
    if (selectable) {
        if (!m_text.isEmpty()) m_text += '\n';
        placed.start = int(m_text.size());
        const QString text = block->text();
        placed.length = int(text.size());
        m_text += text;
    }
    placed.block = std::move(block);
    m_blocks.push_back(std::move(placed));
}

void MessageLayout::placeLine(const QString& text, QList<MarkdownSpan> spans, double gapBefore) {
    place(std::make_unique<ParagraphBlock>(text, std::move(spans), mutedStyle()), 0, m_width,
          gapBefore, false);
}

void MessageLayout::layOutUser(const MessageContent& content, double width) {
    const engine::Message& message = content.model.at(content.row).message;
    const QString& text = content.model.text(content.row);
    const double limit = std::floor(width * 0.8) - 2 * kBoxPadX;
    m_blocks.clear();
    m_y = kBoxPadY;
    for (const engine::Attachment& file : message.attachments) {
        const QString hash = QString::fromStdString(file.sha256);
        place(std::make_unique<PictureBlock>(hash, QString::fromStdString(file.fileName),
                                             QSize(file.width, file.height),
                                             content.model.picture(hash)),
              0, limit, 8, false);
    }
    // The text is shown exactly as typed, a paragraph a line so that each has its own direction.
    const qsizetype shown = text.size() > kShownAtFirst + 2000
                                ? std::min<qsizetype>(text.size(), content.shownCharacters)
                                : text.size();
    bool first = true;
    for (QStringView line : QStringView(text).left(shown).split('\n')) {
        if (text.isEmpty()) break;
        // Very long lines are laid out in pieces.
        for (qsizetype from = 0; from == 0 || from < line.size(); from += 8000) {
            place(std::make_unique<ParagraphBlock>(line.mid(from, 8000).toString(),
                                                   QList<MarkdownSpan>(), bodyStyle()),
                  0, limit, first ? 8 : 0, true);
            first = false;
        }
    }
    if (shown < text.size()) {
        const QString more = SAY("Show more");
        const QString line = SAY("%1 of %2 characters. %3")
                                 .arg(QLocale().toString(shown))
                                 .arg(QLocale().toString(text.size()))
                                 .arg(more);
        place(std::make_unique<ParagraphBlock>(
                  line, QList<MarkdownSpan>{linkOver(line, more, "action:more")}, mutedStyle()),
              0, limit, 6, false);
    }
    double used = 0;
    for (const Placed& placed : m_blocks) used = std::max(used, placed.block->usedWidth());
    m_y += kBoxPadY;
    const double boxWidth = std::min(std::ceil(used), limit) + 2 * kBoxPadX;
    m_body = QRectF(content.mirrored ? 0 : width - boxWidth, 0, boxWidth, m_y);
    for (Placed& placed : m_blocks) {
        placed.at.rx() = m_body.left() + kBoxPadX;
        // Now that the box's width is known, lines written from the right begin at its right edge.
        if (dynamic_cast<ParagraphBlock*>(placed.block.get()))
            placed.block->layOut(boxWidth - 2 * kBoxPadX);
    }
    if (content.last) placeEnding(content);
}

void MessageLayout::placeThinking(const MessageContent& content, double width) {
    const engine::Message& message = content.model.at(content.row).message;
    const QString& thinking = content.model.thinking(content.row);
    const Activity& activity = content.model.activity();
    const bool thinkingNow =
        content.last && content.answering && activity.kind == Activity::Kind::Thinking;
    const bool visible = !QStringView(thinking).trimmed().isEmpty();
    if (!visible && !thinkingNow) return;

    QString line;
    if (thinkingNow) {
        line = SAY("Thinking… %1").arg(clock(activity.thinkingSeconds));
    } else if (message.figures.thinkingSeconds > 0 ||
               (content.last && activity.thinkingSeconds > 0)) {
        const double seconds = message.figures.thinkingSeconds > 0 ? message.figures.thinkingSeconds
                                                                   : activity.thinkingSeconds;
        line = seconds < 1 ? SAY("Thought for a moment")
                           : SAY("Thought for %1").arg(duration(seconds));
    } else {
        line = SAY("Thought first");
    }
    QList<MarkdownSpan> spans;
    if (thinkingNow) {
        const QString now = SAY("Answer now");
        line = SAY("%1 · %2").arg(line, now);
        spans += linkOver(line, now, "action:answer-now");
    }
    auto block = std::make_unique<ParagraphBlock>(line, spans, mutedStyle());
    m_thinkingOpens = visible;
    if (visible) block->setMarker(content.thinkingOpen ? u"▾"_qs : u"▸"_qs, ems(1.1));
    place(std::move(block), 0, width, 0, false);
    if (!visible || !content.thinkingOpen) return;
    const double inset = ems(1.1) + 4;
    const double top = m_y + 4;
    const QStringView body = QStringView(thinking).trimmed();
    bool first = true;
    for (QStringView paragraph : body.split('\n')) {
        if (paragraph.isEmpty()) continue;
        for (qsizetype from = 0; from == 0 || from < paragraph.size(); from += 8000) {
            place(std::make_unique<ParagraphBlock>(paragraph.mid(from, 8000).toString(),
                                                   QList<MarkdownSpan>(), mutedStyle()),
                  inset, width - inset, first ? 4 : 6, true);
            first = false;
        }
    }
    m_thinkingBar = QRectF(ems(0.45), top, 2, m_y - top);
    const QString copy = SAY("Copy thinking");
    place(
        std::make_unique<ParagraphBlock>(
            copy, QList<MarkdownSpan>{linkOver(copy, copy, "action:thinking-copy")}, mutedStyle()),
        inset, width - inset, 4, false);
}

void MessageLayout::placeDocument(double width, int firstChanged) {
    const QList<MarkdownBlock>& source = m_document.blocks();
    for (int i = 0; i < source.size(); ++i) {
        const MarkdownBlock& from = source[i];
        std::unique_ptr<TextBlock> block;
        if (size_t(i) < m_kept.size()) block = std::move(m_kept[size_t(i)]);
        const bool changed = i >= firstChanged;
        const int indent = std::min(from.indent, kDeepest);
        const int quotes = std::min(from.quoteDepth, kDeepest);
        const double gutter = ems(1.6);
        // A block of an item stands where the item's text stands; its marker hangs in the gutter
        // before.
        double x = quotes * ems(1.1) + indent * gutter;
        double gap = 10;
        if (from.indent > 0 &&
            (!from.marker.isEmpty() || (i > 0 && source[i - 1].indent != from.indent)))
            gap = i > 0 && source[i - 1].indent > 0 ? 4 : 8;
        bool rightToLeft = false;
        switch (from.kind) {
        case MarkdownBlock::Kind::Paragraph:
        case MarkdownBlock::Kind::Heading: {
            if (from.kind == MarkdownBlock::Kind::Heading) gap = i > 0 ? 18 : 0;
            auto* text = dynamic_cast<ParagraphBlock*>(block.get());
            std::unique_ptr<ParagraphBlock> fresh;
            if (!text || changed) {
                ParagraphStyle style = from.kind == MarkdownBlock::Kind::Heading
                                           ? headingStyle(from.level)
                                       : from.quoteDepth ? mutedStyle()
                                                         : bodyStyle();
                fresh = std::make_unique<ParagraphBlock>(from.text, from.spans, style);
                text = fresh.get();
                if (!from.marker.isEmpty()) text->setMarker(from.marker, gutter);
                block = std::move(fresh);
            }
            rightToLeft = text->rightToLeft();
            if (!from.marker.isEmpty()) x -= gutter;
            break;
        }
        case MarkdownBlock::Kind::Code: {
            auto* code = dynamic_cast<CodeBlock*>(block.get());
            if (!code || code->language() != from.language)
                block = std::make_unique<CodeBlock>(from.language, from.text);
            else if (changed)
                code->setText(from.text);
            break;
        }
        case MarkdownBlock::Kind::Table: {
            auto* table = dynamic_cast<TableBlock*>(block.get());
            if (!table)
                block = std::make_unique<TableBlock>(from);
            else if (changed)
                table->setRows(from);
            break;
        }
        case MarkdownBlock::Kind::Rule:
            if (!block || changed) block = std::make_unique<RuleBlock>();
            break;
        }
        x = std::max(0.0, x);
        const double room = std::max(width - x, width * 0.3);
        place(std::move(block), rightToLeft ? 0 : x, room, gap, true);
        m_blocks.back().source = i;
        m_blocks.back().quoteDepth = quotes;
        m_blocks.back().rightToLeft = rightToLeft;
    }
    m_kept.clear();
}

void MessageLayout::placeEnding(const MessageContent& content) {
    const engine::Message& message = content.model.at(content.row).message;
    const Activity& activity = content.model.activity();
    const double gap = 8;
    if (content.last && content.answering) {
        switch (activity.kind) {
        case Activity::Kind::Waiting:
            placeLine(activity.why.isEmpty() ? SAY("Getting ready…") : activity.why, {}, gap);
            break;
        case Activity::Kind::Looking:
            placeLine(SAY("Looking at picture %1 of %2")
                          .arg(activity.pictureIndex)
                          .arg(activity.pictureCount),
                      {}, gap);
            break;
        case Activity::Kind::Reading: {
            const QString done = QLocale().toString(activity.readDone);
            const QString total = QLocale().toString(activity.readTotal);
            QString line = activity.secondsLeft >= 0
                               ? SAY("Reading your message – %1 of %2 tokens, about %3")
                                     .arg(done, total, duration(activity.secondsLeft))
                               : SAY("Reading your message – %1 of %2 tokens").arg(done, total);
            placeLine(line, {}, gap);
            if (!activity.why.isEmpty()) placeLine(activity.why, {}, 0);
            break;
        }
        default: break;
        }
        return;
    }
    if (m_user) return;
    const QString resume = SAY("Continue"), again = SAY("Try again");
    const auto line = [&](const QString& pattern) {
        const QString text = pattern.arg(resume, again);
        placeLine(text,
                  content.last ? QList<MarkdownSpan>{linkOver(text, resume, "action:continue"),
                                                     linkOver(text, again, "action:try-again")}
                               : QList<MarkdownSpan>(),
                  gap);
    };
    switch (message.state) {
    case engine::MessageState::Complete: break;
    case engine::MessageState::Growing:
    case engine::MessageState::Interrupted: line(SAY("Interrupted. %1 · %2")); break;
    case engine::MessageState::Stopped: line(SAY("Stopped. %1 · %2")); break;
    case engine::MessageState::LengthReached:
        line(SAY("The answer reached its limit. %1 · %2"));
        break;
    case engine::MessageState::EndedWhileThinking:
        line(SAY("The room for this answer was used up while thinking. %1 · %2"));
        break;
    case engine::MessageState::Failed:
        line(SAY("The answer could not be finished. %1 · %2"));
        break;
    }
}

void MessageLayout::layOutAnswer(const MessageContent& content, double width) {
    const QString& text = content.model.text(content.row);
    // Blocks of the text that did not change are used again.
    m_kept.clear();
    for (Placed& placed : m_blocks) {
        if (placed.source < 0) continue;
        m_kept.resize(std::max(m_kept.size(), size_t(placed.source) + 1));
        m_kept[size_t(placed.source)] = std::move(placed.block);
    }
    m_blocks.clear();
    int firstChanged = int(m_document.blocks().size());
    if (text != m_document.text()) {
        if (text.startsWith(m_document.text()))
            m_document.append(QStringView(text).mid(m_document.text().size()));
        else
            m_document.setText(text);
        firstChanged = m_document.firstChanged();
    }
    m_body = QRectF(0, 0, width, 0);
    placeThinking(content, width);
    placeDocument(width, firstChanged);
    m_cursor = content.last && content.answering &&
               content.model.activity().kind == Activity::Kind::Answering;
    placeEnding(content);
    m_body.setHeight(m_y);
}

} // namespace ui
