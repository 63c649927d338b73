#pragma once
// Choosing the three files: a slot for each, a sentence on what was found, and the plan card.
// LoadingPage shows the loading that follows.

#include "ui/notice.h"
#include "ui/plan_card.h"

#include <QStringList>
#include <QWidget>

#include <optional>

class QLabel;
class QProgressBar;
class QPushButton;

namespace ui {

enum class ModelSlot { Target, Projector, Drafter };

struct SlotState {
    enum class Mark { Empty, Checking, Good, Warning, Bad };
    Mark mark = Mark::Empty;
    QString
        sentence;   // "Muse Glimmer 30B"; empty with Mark::Empty: the slot says what the part adds
    QString detail; // file name, size, folder
    QList<Remedy> remedies;
    bool operator==(const SlotState&) const = default;
};

struct FoundFile {
    QString path;
    QString name;
    qint64 bytes = 0;
    std::optional<ModelSlot> slot; // empty: not usable, and `note` says why
    QString where;                 // "LM Studio's folder"
    QString note;
};

class ModelSetup : public QWidget {
    Q_OBJECT
public:
    explicit ModelSetup(QWidget* parent = nullptr);

    void setSlot(ModelSlot slot, const SlotState& state);
    void setPlan(const std::optional<PlanState>& plan); // empty: no plan yet
    void setSearching(bool searching, const QString& where = {});
    void setFound(const QList<FoundFile>& files);
    void setNotice(const std::optional<Notice>& notice); // e.g. why loading failed
    void setCanGoBack(bool can);                         // a model is loaded: the page may be left

signals:
    void chooseWished(ui::ModelSlot slot); // opens the file dialog in app
    void chooseAnyWished();
    void clearWished(ui::ModelSlot slot);
    void lookWished();
    void stopLookingWished();
    void
    filesChosen(const QStringList& paths); // dropped or picked from the found ones, in any order
    void remedyWished(const QString& remedyId);
    void choiceChanged(const ui::PlanChoice& choice);
    void loadWished(const ui::PlanChoice& choice);
    void backWished();

protected:
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    class Private;
    Private* d = nullptr; // a child of this widget
};

class LoadingPage : public QWidget {
    Q_OBJECT
public:
    explicit LoadingPage(QWidget* parent = nullptr);
    // `phase` in words; bytesTotal 0: not known. secondsLeft below 0: not known.
    void setProgress(const QString& phase, qint64 bytesDone, qint64 bytesTotal, double secondsLeft);
    void setModelName(const QString& name);

signals:
    void cancelWished();

private:
    QLabel* m_title;
    QLabel* m_phase;
    QLabel* m_figures;
    QProgressBar* m_bar;
    QPushButton* m_cancel;
};

} // namespace ui
