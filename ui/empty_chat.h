#pragma once
// What an empty transcript says: the model's name, one sentence, and three texts to begin with.

#include <QString>
#include <QStringList>
#include <QWidget>

#include <vector>

class QLabel;
class QVBoxLayout;

namespace ui {

struct EmptyChat {
    QString title; // name of the model
    QString sentence;
    QString notice;       // e.g. "This is a test model: it answers nonsense." Empty: none
    QStringList starters; // three texts that go to the composer
    bool operator==(const EmptyChat&) const = default;
};

class EmptyChatPage : public QWidget {
    Q_OBJECT
public:
    explicit EmptyChatPage(QWidget* parent);
    void setContent(const EmptyChat& content);

signals:
    void starterChosen(const QString& text);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void fit();

    EmptyChat m_content;
    QWidget* m_column = nullptr;
    std::vector<QWidget*> m_starters; // children of the column
};

} // namespace ui
