#pragma once
// A picture over the whole window: fit, 100 %, wheel zoom, drag, arrow keys; Esc closes.

#include <QImage>
#include <QString>
#include <QWidget>

namespace ui {

class ElidedLabel;

class ImageViewer : public QWidget {
    Q_OBJECT
public:
    // Covers `parent` and follows its size.
    explicit ImageViewer(QWidget* parent);
    void open(const QImage& image, const QString& name);
    double scale() const { return m_scale; }

signals:
    void closed();
    void stepWished(int step); // arrow keys while the picture fits: the next or previous picture

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    double fitScale() const;
    void zoomTo(double scale, const QPointF& fixed);
    void clampOffset();

    ElidedLabel* m_caption;
    QImage m_image;
    QString m_name;
    QPointF m_offset; // of the picture's centre from the widget's centre, pixels
    double m_scale = 1;
    bool m_fit = true;
    QPoint m_pressed;
};

} // namespace ui
