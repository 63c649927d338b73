#pragma once
// The last line of the window. Changes of the state are also told to assistive programs.

#include <QWidget>

class QLabel;
class QTimer;

namespace ui {

class ElidedLabel;

class StatusLine : public QWidget {
    Q_OBJECT
public:
    explicit StatusLine(QWidget* parent = nullptr);

    void setState(const QString& text); // "Ready · 3,120 of 32,768 tokens"
    void setSaved(const QString& text); // "Saved"
    void setModel(const QString& text); // "Muse Glimmer 30B, 17 GB build"
    QString state() const;
    // Said once for some seconds in place of the state: "Copied".
    void say(const QString& text);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    ElidedLabel* m_state;
    QLabel* m_saved;
    ElidedLabel* m_model;
    QLabel* m_network;
    QTimer* m_saying;
    QString m_stateText;
};

} // namespace ui
