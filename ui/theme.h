#pragma once
// How the program looks: two tables of colours, the fonts by role, and the icons tinted from the
// colours. Like QApplication's palette and font this is one value for the whole process. GUI thread
// only. Widgets that paint themselves read colours() while painting and repaint on
// QEvent::PaletteChange.

#include <QColor>
#include <QFont>
#include <QIcon>
#include <QPalette>

class QAbstractButton;
class QWidget;

namespace ui {

enum class ThemeChoice { System, Light, Dark };

struct Colours {
    QColor window;  // transcript, composer
    QColor surface; // sidebar, panel, cards, the person's messages, code
    QColor raised;  // menus, chips, inputs
    QColor line;    // hairlines, borders
    QColor text;
    QColor muted;  // captions, thinking
    QColor accent; // primary button, links, focus, writing speed, model memory
    QColor onAccent;
    QColor second; // reading speed, vision memory
    QColor third;  // draft memory, acceptance
    QColor fourth; // conversation memory, warnings
    QColor good;
    QColor bad;
    bool dark = false;
};

Colours lightColours();
Colours darkColours();
// From a high-contrast system palette, which wins over ours.
Colours highContrastColours(const QPalette& system);
bool isHighContrast(const QPalette& system);
// WCAG 2 contrast of two opaque colours, 1 .. 21.
double contrastRatio(const QColor& a, const QColor& b);

inline constexpr int kMinTextZoom = 75; // percent
inline constexpr int kMaxTextZoom = 300;

// Sets style, palette and style sheet of the QApplication, which must exist.
void applyTheme(ThemeChoice choice);
// Sets the application's font to `percent` of the system's; clamped. Sizes of text only.
void applyTextZoom(int percent);
bool themeApplied(); // applyTheme was called
ThemeChoice themeChoice();
int textZoom();

const Colours& colours();

QFont bodyFont();
QFont captionFont(); // 0.85 em
QFont titleFont();   // 1.15 em, semi-bold
QFont strongFont();  // body, semi-bold
QFont codeFont();    // the system's fixed font, 0.93 em
QFont numberFont();  // body, semi-bold, tabular figures
QFont largeFont();   // 1.4 em, semi-bold
// Width of `em` ems of the body font, in pixels.
int ems(double em);

// The role of a widget's font; kept when the text zoom changes.
enum class FontRole { Body, Caption, Title, Strong, Code, Number, Large };
void setFontRole(QWidget* widget, FontRole role);

// Icons of buttons grow with the text; `pixels` is the size at 100 %.
void setIconPixels(QAbstractButton* button, int pixels);

// `name` is a file in resources/icons without ".svg". The colour is looked up while painting, so
// that the icon follows the theme; disabled it is muted.
QIcon icon(const char* name, QColor Colours::*tint = &Colours::text);

// Whether fades may run; false if the system asks for none.
bool motionAllowed();

} // namespace ui
