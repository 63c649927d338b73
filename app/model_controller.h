#pragma once
// The trio: choosing its files, what loading would cost, loading, and freeing the memory again.
//
// GUI thread. Files are inspected in the background. Everything passed to the constructor outlives
// this object.

#include "app/engine_worker.h"
#include "app/model_library.h"
#include "app/settings.h"
#include "ui/main_window.h"
#include "ui/model_setup.h"

#include <QElapsedTimer>
#include <QObject>
#include <QStringList>
#include <QThreadPool>

#include <optional>
#include <stop_token>
#include <vector>

namespace app {

class ModelController : public QObject {
    Q_OBJECT
public:
    ModelController(ui::MainWindow& window, EngineWorker& engine, Settings& settings,
                    QObject* parent = nullptr);
    ~ModelController() override; // waits for the inspection in hand

    // At start: these files, else the last ones, else the demo trio, else the set-up page.
    void start(std::vector<std::filesystem::path> files);
    // Files handed over by a second start.
    void open(const QStringList& files);
    void showSetup();
    void showChat();
    void load(); // what is chosen
    void unload();
    void chooseFiles();

    const std::optional<LoadedModel>& model() const { return m_model; }
    // "Muse Glimmer 30B · 16.8 GB"
    QString modelLine() const;

signals:
    void modelChanged(); // loaded or freed
    void pageShown(ui::MainWindow::Page page);

private:
    struct Inspected {
        engine::ModelSlots trio;
        std::optional<engine::PlacementInput> input;
        std::optional<engine::Error> error; // of the headers
    };
    static Inspected inspect(const std::vector<std::filesystem::path>& files,
                             const engine::ModelSlots& current, bool companions);
    void connectSetup();
    void connectEngine();
    void take(const QStringList& paths, std::optional<ui::ModelSlot> wished);
    void inspected(const Inspected& result, std::optional<ui::ModelSlot> wished, bool thenLoad);
    void inspectSoon(std::vector<std::filesystem::path> files, const engine::ModelSlots& current,
                     bool companions, std::optional<ui::ModelSlot> wished, bool thenLoad);
    void chooseFor(std::optional<ui::ModelSlot> slot);
    void clear(ui::ModelSlot slot);
    void look();
    void takeIfPlain(const QList<ui::FoundFile>& found);
    void showPage(ui::MainWindow::Page page);
    void showSlots();
    void showRefused(const Inspected& result, std::optional<ui::ModelSlot> wished);
    void plan();
    void loadWith(const ui::PlanChoice& choice);
    void carryOut(const QString& remedyId);
    void setBlocked(const QString& reason);
    void showEmptyChat();

    ui::MainWindow& m_window;
    EngineWorker& m_engine;
    Settings& m_settings;
    QThreadPool m_pool;
    std::stop_source m_lookStop;
    engine::ModelSlots m_trio;
    std::optional<engine::PlacementInput> m_input;
    ui::PlanChoice m_choice;
    std::optional<engine::PlacementPlan> m_plan;
    std::optional<LoadedModel> m_model;
    QElapsedTimer m_sinceLoad;
};

} // namespace app
