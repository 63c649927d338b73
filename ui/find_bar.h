#pragma once
// Find in chat: a field, the count, next and previous, close.

#include <QWidget>

class QLabel;
class QLineEdit;

namespace ui {

class FindBar : public QWidget {
    Q_OBJECT
public:
    explicit FindBar(QWidget* parent = nullptr);
    void open(const QString& text = {});
    void setResult(int hits, int current);
    QString text() const;

signals:
    void findWished(const QString& text, int step); // 0 while typing, +1 next, -1 previous
    void closed();

protected:
    void keyPressEvent(QKeyEvent* event) override;

private:
    QLineEdit* m_field;
    QLabel* m_count;
};

} // namespace ui
