#pragma once
// The state of a TranscriptView: geometry of all rows, layouts of the visible ones, selection,
// search and what the mouse does. Included by the view's own files only. GUI thread.

#include "ui/message_layout.h"
#include "ui/transcript_view.h"

#include <QBasicTimer>
#include <QHash>
#include <QPointF>
#include <QScrollBar>
#include <QSet>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

class QPushButton;

namespace ui {

class MessageActions;
class NoticeCard;

// What is public here is so for the view and its event handlers.
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
    double columnWidth() const;
    double columnLeft() const { return std::floor((q.viewport()->width() - columnWidth()) / 2); }
    double scroll() const { return q.verticalScrollBar()->value(); }
    QPointF rowOrigin(int row) const { return QPointF(columnLeft(), tops[size_t(row)] - scroll()); }

    MessageContent content(int row) const;
    void forgetLayouts();
    MessageLayout& layoutOf(int row);
    void computeTops();

    int rowAt(double y) const { // y in content; the nearest row
        if (heights.empty()) return -1;
        const auto after = std::upper_bound(tops.begin(), tops.end() - 1, y);
        return std::clamp(int(after - tops.begin()) - 1, 0, rows() - 1);
    }

    double endHeight() const;
    int errorHeight() const;

    // Lays out what is visible until nothing moves any more, and keeps the view where the person
    // left it. Without `stick` a view that follows the end is not moved there: the person is
    // scrolling.
    void settle(bool stick = true);
    bool atEnd() const;
    void placeWidgets();
    void placeActions(int row);
    Place placeAt(const QPointF& point);
    TextRange selectionIn(int row, int length) const;
    std::vector<TextRange> marksIn(const QString& text) const;
    void setHover(int row, int block, const QString& target);
    void mouseMovedTo(const QPoint& point);
    void copyText(const QString& text, const QString& what);
    void refreshRow(int row);
    void act(int row, int block, const QString& target);
    static QString suggestedName(const QString& language);
    void setFocusRow(int row);

    // Brings the row into view with as little movement as possible.
    void settleOn(int row);
    void scrollToPlace(int row, int position);
    void showHit();
};

} // namespace ui
