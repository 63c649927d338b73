#pragma once
// Writing and reading speed of the last minute: two lines that differ by style as well as colour.

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

#include <deque>
#include <optional>

namespace ui {

class SpeedGraph : public QWidget {
    Q_OBJECT
public:
    explicit SpeedGraph(QWidget* parent = nullptr);
    void add(std::optional<double> writing, std::optional<double> reading);
    QSize sizeHint() const override { return QSize(200, 120); }

protected:
    void paintEvent(QPaintEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    struct Sample {
        qint64 ms;
        double writing; // 0: not
        double reading;
    };
    void dropOld();
    void describe();

    std::deque<Sample> m_samples;
    QElapsedTimer m_clock;
    QTimer m_timer; // moves the graph on while there is something in it and it is seen
};

} // namespace ui
