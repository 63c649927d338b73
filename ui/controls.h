#pragma once
// Small controls that several parts use, and a layout that wraps.

#include "ui/theme.h"

#include <QLayout>
#include <QList>
#include <QToolButton>

class QLabel;
class QPushButton;

namespace ui {

// A square button with an icon; its name is its tooltip.
QToolButton* iconButton(const char* icon, const QString& name, QWidget* parent);
// Text without a frame, muted; for quiet actions.
QToolButton* textButton(const QString& text, QWidget* parent, const char* icon = nullptr);
QLabel* label(const QString& text, QWidget* parent, const char* tone = nullptr);
// Changes the colour of a label made by label(); null: the ordinary one.
void setTone(QWidget* widget, const char* tone);

// "Thinking: Medium" with a chevron; opens its menu.
class MenuButton : public QToolButton {
    Q_OBJECT
public:
    explicit MenuButton(QWidget* parent = nullptr, bool framed = false);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int arrowSize() const;
    bool m_framed;
};

// A small picture of resources/icons that follows the theme, beside text.
class IconLabel : public QWidget {
    Q_OBJECT
public:
    explicit IconLabel(QWidget* parent = nullptr);
    // `meaning` is what assistive programs say instead. Null: nothing is shown.
    void setIcon(const char* name, QColor Colours::*tint, const QString& meaning);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const char* m_name = nullptr;
    QColor Colours::*m_tint = &Colours::text;
};

// A one-line label that ends with "…" where it does not fit; the whole text is its tooltip.
class ElidedLabel : public QWidget {
    Q_OBJECT
public:
    explicit ElidedLabel(QWidget* parent = nullptr);
    void setText(const QString& text);
    const QString& text() const { return m_text; }
    void setTint(QColor Colours::*tint);
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_text;
    QColor Colours::*m_tint = &Colours::text;
};

// Puts its items one after the other and begins a new row where the width ends.
class FlowLayout : public QLayout {
public:
    explicit FlowLayout(int spacing, QWidget* parent = nullptr);
    ~FlowLayout() override;
    void addItem(QLayoutItem* item) override;
    int count() const override { return int(m_items.size()); }
    QLayoutItem* itemAt(int index) const override { return m_items.value(index); }
    QLayoutItem* takeAt(int index) override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSize() const override;
    void setGeometry(const QRect& rect) override;

private:
    int arrange(const QRect& rect, bool apply) const;
    QList<QLayoutItem*> m_items; // owned
};

} // namespace ui
