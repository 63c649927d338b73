#include "ui/image_viewer.h"

#include "ui/controls.h"
#include "ui/theme.h"

#include <QHBoxLayout>
#include <QMouseEvent>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace ui {

namespace {
constexpr double kLargest = 16; // times its pixels
}

ImageViewer::ImageViewer(QWidget* parent) : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Picture"));
    setCursor(Qt::OpenHandCursor);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 8, 12, 8);
    auto* row = new QHBoxLayout;
    m_caption = new ElidedLabel(this);
    row->addWidget(m_caption, 1);
    auto* fit = iconButton("fit", tr("Fit the window (0)"), this);
    auto* full = iconButton("zoom-in", tr("Show at 100 % (1)"), this);
    auto* close = iconButton("close", tr("Close (Esc)"), this);
    for (QToolButton* button : {fit, full, close}) {
        button->setCursor(Qt::ArrowCursor);
        row->addWidget(button);
    }
    column->addLayout(row);
    column->addStretch(1);
    connect(fit, &QToolButton::clicked, this, [this] {
        m_fit = true;
        m_offset = {};
        m_scale = fitScale();
        update();
    });
    connect(full, &QToolButton::clicked, this, [this] { zoomTo(1, QPointF(rect().center())); });
    connect(close, &QToolButton::clicked, this, &ImageViewer::closed);
    parent->installEventFilter(this);
    hide();
}

void ImageViewer::open(const QImage& image, const QString& name) {
    m_image = image;
    m_name = name;
    m_caption->setText(tr("%1 · %2 × %3 pixels").arg(name).arg(image.width()).arg(image.height()));
    m_fit = true;
    m_offset = {};
    setGeometry(parentWidget()->rect());
    m_scale = fitScale();
    show();
    raise();
    setFocus();
    update();
}

double ImageViewer::fitScale() const {
    if (m_image.isNull()) return 1;
    const double room = 56; // caption and margins
    return std::clamp(
        std::min((width() - 24.0) / m_image.width(), (height() - 2 * room) / m_image.height()),
        0.001, 1.0);
}

void ImageViewer::zoomTo(double scale, const QPointF& fixed) {
    const double least = std::min(fitScale(), 1.0);
    scale = std::clamp(scale, least, kLargest);
    // The point under the mouse stays where it is.
    const QPointF centre(width() / 2.0, height() / 2.0);
    const QPointF inPicture = (fixed - centre - m_offset) / m_scale;
    m_offset = fixed - centre - inPicture * scale;
    m_scale = scale;
    m_fit = scale <= least;
    clampOffset();
    update();
}

void ImageViewer::clampOffset() {
    const double x = std::max(0.0, (m_image.width() * m_scale - width()) / 2);
    const double y = std::max(0.0, (m_image.height() * m_scale - height()) / 2);
    m_offset.setX(std::clamp(m_offset.x(), -x, x));
    m_offset.setY(std::clamp(m_offset.y(), -y, y));
}

void ImageViewer::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    painter.setClipRect(event->rect());
    painter.fillRect(rect(), colours().surface);
    const QSizeF size = QSizeF(m_image.size()) * m_scale;
    QRectF target(QPointF(), size);
    target.moveCenter(QPointF(width() / 2.0, height() / 2.0) + m_offset);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, m_scale < 4);
    painter.fillRect(target,
                     Qt::white); // transparent pictures are laid over white, as the model sees them
    painter.drawImage(target, m_image);
}

void ImageViewer::keyPressEvent(QKeyEvent* event) {
    const QPointF centre(width() / 2.0, height() / 2.0);
    const double step = 60;
    switch (event->key()) {
    case Qt::Key_Escape: emit closed(); return;
    case Qt::Key_0: zoomTo(fitScale(), centre); return;
    case Qt::Key_1: zoomTo(1, centre); return;
    case Qt::Key_Plus:
    case Qt::Key_Equal: zoomTo(m_scale * 1.25, centre); return;
    case Qt::Key_Minus: zoomTo(m_scale / 1.25, centre); return;
    case Qt::Key_Left:
    case Qt::Key_Right: {
        const int direction = event->key() == Qt::Key_Right ? 1 : -1;
        if (m_fit)
            emit stepWished(direction);
        else
            m_offset.rx() -= direction * step;
        break;
    }
    case Qt::Key_Up: m_offset.ry() += step; break;
    case Qt::Key_Down: m_offset.ry() -= step; break;
    default: QWidget::keyPressEvent(event); return;
    }
    clampOffset();
    update();
}

void ImageViewer::wheelEvent(QWheelEvent* event) {
    zoomTo(m_scale * std::pow(1.0015, event->angleDelta().y()), event->position());
}

void ImageViewer::mousePressEvent(QMouseEvent* event) {
    m_pressed = event->position().toPoint();
}

void ImageViewer::mouseMoveEvent(QMouseEvent* event) {
    if (!(event->buttons() & Qt::LeftButton)) return;
    m_offset += event->position() - QPointF(m_pressed);
    m_pressed = event->position().toPoint();
    clampOffset();
    update();
}

void ImageViewer::mouseDoubleClickEvent(QMouseEvent* event) {
    zoomTo(m_fit ? 1 : fitScale(), event->position());
}

void ImageViewer::resizeEvent(QResizeEvent*) {
    if (m_fit) m_scale = fitScale();
    clampOffset();
}

bool ImageViewer::eventFilter(QObject* watched, QEvent* event) {
    if (watched == parentWidget() && event->type() == QEvent::Resize)
        setGeometry(parentWidget()->rect());
    return QWidget::eventFilter(watched, event);
}

} // namespace ui
