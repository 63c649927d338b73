#include "ui/theme.h"

#include <QAbstractButton>
#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QFontInfo>
#include <QIconEngine>
#include <QPainter>
#include <QPixmapCache>
#include <QSettings>
#include <QStyle>
#include <QStyleFactory>
#include <QSvgRenderer>
#include <QVariant>
#include <QWidget>

#include <algorithm>
#include <cmath>
#include <optional>

#ifdef Q_OS_WIN
#    include <windows.h>
#endif

// Static libraries need this call from outside any namespace.
static void initResources() {
    Q_INIT_RESOURCE(resources);
}

namespace ui {

namespace {

constexpr const char* kFontRoleProperty = "fontRole";
constexpr const char* kIconProperty = "iconPixels";

struct State {
    ThemeChoice choice = ThemeChoice::System;
    int zoom = 100;
    Colours colours = lightColours();
    // The system's own look, taken before ours replaces it.
    std::optional<QPalette> systemPalette;
    QFont systemFont;
};

State& state() {
    static State s;
    return s;
}

double channel(double value) {
    return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& c) {
    return 0.2126 * channel(c.redF()) + 0.7152 * channel(c.greenF()) + 0.0722 * channel(c.blueF());
}

QColor mix(const QColor& a, const QColor& b, double shareOfB) {
    const auto blend = [&](int x, int y) { return int(std::lround(x + (y - x) * shareOfB)); };
    return QColor(blend(a.red(), b.red()), blend(a.green(), b.green()), blend(a.blue(), b.blue()));
}

bool systemIsDark(const QPalette& system) {
#ifdef Q_OS_WIN
    const QSettings key(
        "HKEY_CURRENT_USER\\Software\\Microsoft\\Windows\\CurrentVersion\\Themes\\Personalize",
        QSettings::NativeFormat);
    if (key.contains("AppsUseLightTheme")) return key.value("AppsUseLightTheme").toInt() == 0;
#endif
    return luminance(system.color(QPalette::Window)) <
           luminance(system.color(QPalette::WindowText));
}

bool systemWantsHighContrast(const QPalette& system) {
#ifdef Q_OS_WIN
    HIGHCONTRASTW info = {};
    info.cbSize = sizeof(info);
    if (SystemParametersInfoW(SPI_GETHIGHCONTRAST, sizeof(info), &info, 0))
        return (info.dwFlags & HCF_HIGHCONTRASTON) != 0;
#endif
    return isHighContrast(system);
}

QPalette paletteFrom(const Colours& c) {
    QPalette p;
    p.setColor(QPalette::Window, c.surface);
    p.setColor(QPalette::WindowText, c.text);
    p.setColor(QPalette::Base, c.window);
    p.setColor(QPalette::AlternateBase, c.surface);
    p.setColor(QPalette::Text, c.text);
    p.setColor(QPalette::Button, c.raised);
    p.setColor(QPalette::ButtonText, c.text);
    p.setColor(QPalette::BrightText, c.onAccent);
    p.setColor(QPalette::ToolTipBase, c.raised);
    p.setColor(QPalette::ToolTipText, c.text);
    p.setColor(QPalette::Highlight, c.accent);
    p.setColor(QPalette::HighlightedText, c.onAccent);
    p.setColor(QPalette::PlaceholderText, c.muted);
    p.setColor(QPalette::Link, c.accent);
    p.setColor(QPalette::LinkVisited, c.third);
    p.setColor(QPalette::Light, c.raised);
    p.setColor(QPalette::Midlight, c.surface);
    p.setColor(QPalette::Mid, c.line);
    p.setColor(QPalette::Dark, c.line);
    p.setColor(QPalette::Shadow, c.dark ? QColor(Qt::black) : c.muted);
    for (auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, c.muted);
    return p;
}

QString styleSheetFrom(const Colours& c) {
    QFile file(":/themes/glint.qss");
    if (!file.open(QIODevice::ReadOnly)) return {};
    QString sheet = QString::fromUtf8(file.readAll());
    // Longer names first, so that none is the beginning of one still to be replaced.
    const QList<std::pair<QString, QColor>> values = {
        {"@accentHover", mix(c.accent, c.text, 0.12)},
        {"@onAccent", c.onAccent},
        {"@selected", mix(c.surface, c.accent, c.dark ? 0.22 : 0.12)},
        {"@surface", c.surface},
        {"@window", c.window},
        {"@raised", c.raised},
        {"@scroll", mix(c.line, c.muted, 0.35)},
        {"@accent", c.accent},
        {"@fourth", c.fourth},
        {"@hover", mix(c.surface, c.text, 0.07)},
        {"@muted", c.muted},
        {"@line", c.line},
        {"@text", c.text},
        {"@good", c.good},
        {"@bad", c.bad},
    };
    sheet.replace("@shade", c.dark ? "dark" : "light");
    for (const auto& [name, colour] : values) sheet.replace(name, colour.name());
    return sheet;
}

QFont scaled(double factor) {
    QFont font = QApplication::font();
    if (font.pointSizeF() > 0)
        font.setPointSizeF(font.pointSizeF() * factor);
    else
        font.setPixelSize(std::max(1, int(std::lround(font.pixelSize() * factor))));
    return font;
}

QFont fontFor(FontRole role) {
    switch (role) {
    case FontRole::Body: break;
    case FontRole::Caption: return captionFont();
    case FontRole::Title: return titleFont();
    case FontRole::Strong: return strongFont();
    case FontRole::Code: return codeFont();
    case FontRole::Number: return numberFont();
    case FontRole::Large: return largeFont();
    }
    return bodyFont();
}

// Draws one SVG of resources/icons in a colour that is looked up at each painting.
class TintedIcon : public QIconEngine {
public:
    TintedIcon(const char* name, QColor Colours::*tint) : m_name(name), m_tint(tint) {}

    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State) override {
        const double ratio = painter->device() ? painter->device()->devicePixelRatioF() : 1;
        QPixmap image = render(rect.size() * ratio, mode);
        image.setDevicePixelRatio(ratio);
        painter->drawPixmap(rect.topLeft(), image);
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State) override {
        return render(size, mode);
    }
    QIconEngine* clone() const override { return new TintedIcon(*this); }

private:
    QPixmap render(const QSize& size, QIcon::Mode mode) const {
        const QColor tint = mode == QIcon::Disabled ? colours().muted : colours().*m_tint;
        const QString key = QString("glint/%1/%2x%3/%4")
                                .arg(m_name)
                                .arg(size.width())
                                .arg(size.height())
                                .arg(tint.name());
        QPixmap image;
        if (QPixmapCache::find(key, &image)) return image;
        image = QPixmap(size);
        image.fill(Qt::transparent);
        QFile file(QString(":/icons/%1.svg").arg(m_name));
        if (file.open(QIODevice::ReadOnly)) {
            QByteArray svg = file.readAll();
            svg.replace("currentColor", tint.name().toLatin1());
            QSvgRenderer renderer(svg);
            QPainter painter(&image);
            renderer.setAspectRatioMode(Qt::KeepAspectRatio);
            renderer.render(&painter, QRectF(QPointF(), QSizeF(size)));
        }
        QPixmapCache::insert(key, image);
        return image;
    }

    const char* m_name;
    QColor Colours::*m_tint;
};

} // namespace

Colours lightColours() {
    Colours c;
    c.window = QColor(0xFF, 0xFF, 0xFF);
    c.surface = QColor(0xF5, 0xF5, 0xF7);
    c.raised = QColor(0xFF, 0xFF, 0xFF);
    c.line = QColor(0xDE, 0xDE, 0xE3);
    c.text = QColor(0x1D, 0x1D, 0x20);
    c.muted = QColor(0x5C, 0x5D, 0x66);
    c.accent = QColor(0x3B, 0x55, 0xC8);
    c.onAccent = QColor(0xFF, 0xFF, 0xFF);
    c.second = QColor(0x0A, 0x6C, 0x7C);
    c.third = QColor(0x7A, 0x4B, 0xB8);
    c.fourth = QColor(0x9A, 0x5B, 0x00);
    c.good = QColor(0x1F, 0x7A, 0x3D);
    c.bad = QColor(0xB4, 0x23, 0x18);
    return c;
}

Colours darkColours() {
    Colours c;
    c.window = QColor(0x1B, 0x1B, 0x1E);
    c.surface = QColor(0x24, 0x24, 0x28);
    c.raised = QColor(0x2D, 0x2D, 0x32);
    c.line = QColor(0x3A, 0x3A, 0x41);
    c.text = QColor(0xEC, 0xEC, 0xEE);
    c.muted = QColor(0xA6, 0xA7, 0xB0);
    c.accent = QColor(0x93, 0xA7, 0xFF);
    c.onAccent = QColor(0x14, 0x16, 0x1F);
    c.second = QColor(0x63, 0xCB, 0xDA);
    c.third = QColor(0xC3, 0xA3, 0xF5);
    c.fourth = QColor(0xF0, 0xB4, 0x5E);
    c.good = QColor(0x6B, 0xD0, 0x8A);
    c.bad = QColor(0xFF, 0x8A, 0x80);
    c.dark = true;
    return c;
}

Colours highContrastColours(const QPalette& system) {
    Colours c = systemIsDark(system) ? darkColours() : lightColours();
    c.window = system.color(QPalette::Base);
    c.surface = system.color(QPalette::Window);
    c.raised = system.color(QPalette::Button);
    c.text = system.color(QPalette::WindowText);
    c.muted = c.text;
    c.line = c.text;
    c.accent = system.color(QPalette::Highlight);
    c.onAccent = system.color(QPalette::HighlightedText);
    return c;
}

bool isHighContrast(const QPalette& system) {
    const auto ratio = [&](QPalette::ColorRole back, QPalette::ColorRole front) {
        return contrastRatio(system.color(back), system.color(front));
    };
    // Only pure black and white reach this in all three places; ordinary themes have grey in one of
    // them.
    return ratio(QPalette::Window, QPalette::WindowText) > 20 &&
           ratio(QPalette::Base, QPalette::Text) > 20 &&
           ratio(QPalette::Button, QPalette::ButtonText) > 20;
}

double contrastRatio(const QColor& a, const QColor& b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

void applyTheme(ThemeChoice choice) {
    State& s = state();
    if (!s.systemPalette) {
        initResources();
        s.systemPalette = QApplication::palette();
        s.systemFont = QApplication::font();
        // Without a desktop's theme Qt falls back to nine points, which nobody chose and few read
        // well.
        if (s.systemFont.pointSizeF() > 0 && s.systemFont.pointSizeF() < 10)
            s.systemFont.setPointSizeF(10.5);
        QApplication::setFont(s.systemFont);
        QApplication::setStyle(QStyleFactory::create("Fusion"));
    }
    s.choice = choice;
    if (systemWantsHighContrast(*s.systemPalette)) {
        s.colours = highContrastColours(*s.systemPalette);
    } else {
        const bool dark = choice == ThemeChoice::Dark ||
                          (choice == ThemeChoice::System && systemIsDark(*s.systemPalette));
        s.colours = dark ? darkColours() : lightColours();
    }
    QApplication::setPalette(paletteFrom(s.colours));
    qApp->setStyleSheet(styleSheetFrom(s.colours));
}

void applyTextZoom(int percent) {
    State& s = state();
    if (!s.systemPalette) applyTheme(s.choice);
    s.zoom = std::clamp(percent, kMinTextZoom, kMaxTextZoom);
    QFont font = s.systemFont;
    if (font.pointSizeF() > 0)
        font.setPointSizeF(font.pointSizeF() * s.zoom / 100);
    else
        font.setPixelSize(std::max(1, font.pixelSize() * s.zoom / 100));
    QApplication::setFont(font);
    const QWidgetList widgets = QApplication::allWidgets();
    for (QWidget* widget : widgets) {
        const QVariant role = widget->property(kFontRoleProperty);
        // Where a style sheet is in force, Qt does not hand a new application font to widgets
        // already shown.
        widget->setFont(role.isValid() ? fontFor(FontRole(role.toInt())) : font);
        if (widget->property(kIconProperty).isValid())
            setIconPixels(static_cast<QAbstractButton*>(widget),
                          widget->property(kIconProperty).toInt());
    }
}

bool themeApplied() {
    return state().systemPalette.has_value();
}
ThemeChoice themeChoice() {
    return state().choice;
}
int textZoom() {
    return state().zoom;
}
const Colours& colours() {
    return state().colours;
}

QFont bodyFont() {
    return QApplication::font();
}
QFont captionFont() {
    return scaled(0.85);
}

QFont titleFont() {
    QFont font = scaled(1.15);
    font.setWeight(QFont::DemiBold);
    return font;
}

QFont strongFont() {
    QFont font = QApplication::font();
    font.setWeight(QFont::DemiBold);
    return font;
}

QFont codeFont() {
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    font.setPixelSize(
        std::max(1, int(std::lround(QFontInfo(QApplication::font()).pixelSize() * 0.93))));
    return font;
}

QFont numberFont() {
    // Most system fonts have figures of one width anyway; Qt 6.4 cannot ask for the feature.
    return strongFont();
}

QFont largeFont() {
    QFont font = scaled(1.4);
    font.setWeight(QFont::DemiBold);
    return font;
}

int ems(double em) {
    return int(std::lround(QFontInfo(QApplication::font()).pixelSize() * em));
}

void setFontRole(QWidget* widget, FontRole role) {
    widget->setProperty(kFontRoleProperty, int(role));
    widget->setFont(fontFor(role));
}

void setIconPixels(QAbstractButton* button, int pixels) {
    button->setProperty(kIconProperty, pixels);
    const int size = int(std::lround(pixels * std::clamp(state().zoom, 100, 200) / 100.0));
    button->setIconSize(QSize(size, size));
}

QIcon icon(const char* name, QColor Colours::*tint) {
    return QIcon(new TintedIcon(name, tint));
}

bool motionAllowed() {
    return QApplication::isEffectEnabled(Qt::UI_General) &&
           QApplication::style()->styleHint(QStyle::SH_Widget_Animation_Duration) > 0;
}

} // namespace ui
