#pragma once
// One message laid out for a column width: its blocks one below the other, with the lines around
// them (thinking, activity, "Stopped. Continue"). Kept by TranscriptView for visible messages only.
// While an answer grows, blocks that did not change are kept. GUI thread.

#include "ui/conversation_model.h"
#include "ui/markdown_document.h"
#include "ui/text_block.h"

#include <memory>
#include <vector>

namespace ui {

struct MessageContent {
    const ConversationModel& model;
    int row = 0;
    bool last = false;
    bool answering = false; // an answer is being made in this chat
    bool thinkingOpen = false;
    int shownCharacters = 0; // of a long message of the person
    bool mirrored = false;   // right-to-left window
};

// Where a message begins to be cut, and how much more each click shows.
inline constexpr int kShownAtFirst = 6000;
inline constexpr int kShownMore = 50000;

class MessageLayout {
public:
    // Lays out from the content; cheap where nothing changed since the last call.
    void update(const MessageContent& content, double columnWidth);

    double height() const { return m_height; } // with the footer that holds the actions
    static double footerHeight();
    // A guess for a message that was never laid out.
    static double estimate(const MessageContent& content, double columnWidth);

    struct Paint {
        TextRange selection; // of text()
        std::vector<TextRange> marks;
        int currentMark = -1;
        QString hovered;       // target under the mouse,
        int hoveredBlock = -1; // in this block
        QRectF clip;           // in message coordinates
        bool focused = false;  // a ring around the message
    };
    void paint(QPainter& painter, const Paint& paint) const;

    const QString& text() const { return m_text; } // what can be selected
    int positionAt(const QPointF& point) const;
    QRectF rectOf(int position) const;
    TextRange wordAt(int position) const;
    TextRange blockAt(int position) const; // for a triple click

    struct Hit {
        BlockHit what;
        int block = -1;
    };
    std::optional<Hit> hit(const QPointF& point) const;
    bool overText(const QPointF& point) const;
    // The block at the point, or -1; for sideways scrolling.
    int blockIndexAt(const QPointF& point) const;
    bool scrollBlock(int block, double dx);
    // Pixels of content for each pixel that the sideways bar at the point is dragged; 0: no bar
    // there.
    double barFactor(const QPointF& point) const;
    void toggleWrap(int block);
    QString blockText(int block) const;
    QString codeLanguage(int block) const;

    QRectF bodyRect() const { return m_body; } // the box, or the column
    QRectF footerRect() const;                 // where actions stand
    QStringList missingPictures() const;       // not in the model when last laid out
    void pictureArrived(const QString& sha256, const QImage& image);

private:
    struct Placed {
        std::unique_ptr<TextBlock> block;
        QPointF at;
        int start = -1; // in m_text; -1: not part of it
        int length = 0;
        int quoteDepth = 0;
        bool rightToLeft = false;
        int source = -1; // index in m_document.blocks(); -1: none
    };
    void layOutUser(const MessageContent& content, double width);
    void layOutAnswer(const MessageContent& content, double width);
    void place(std::unique_ptr<TextBlock> block, double x, double width, double gapBefore,
               bool selectable);
    void placeLine(const QString& text, QList<MarkdownSpan> spans, double gapBefore);
    void placeThinking(const MessageContent& content, double width);
    void placeDocument(double width, int firstChanged);
    void placeEnding(const MessageContent& content);

    std::vector<Placed> m_blocks;
    MarkdownDocument m_document;
    std::vector<std::unique_ptr<TextBlock>> m_kept; // document blocks by index, while being placed
    QString m_text;
    double m_width = 0;
    double m_y = 0;
    double m_height = 0;
    QRectF m_body;
    bool m_user = false;
    bool m_cursor = false;        // a text cursor after the last word
    QRectF m_thinkingBar;         // beside opened thinking
    bool m_thinkingOpens = false; // the first block is a line that opens what was thought
};

} // namespace ui
