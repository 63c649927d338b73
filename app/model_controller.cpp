#include "app/model_controller.h"

#include "app/backend_choice.h"
#include "app/error_text.h"
#include "app/model_slots.h"
#include "app/place_text.h"
#include "ui/composer.h"
#include "ui/empty_chat.h"
#include "ui/sidebar.h"
#include "ui/transcript_view.h"

#include <QDir>
#include <QFileDialog>
#include <QFutureWatcher>
#include <QStandardPaths>
#include <QtConcurrent>

#include <algorithm>

namespace app {

using engine::Error;
using engine::ModelFileInfo;
using engine::ModelSlots;

namespace {

std::vector<std::filesystem::path> pathsOf(const engine::ModelFiles& files) {
    std::vector<std::filesystem::path> paths;
    for (const auto& path : {files.target, files.projector, files.drafter}) {
        if (!path.empty()) paths.push_back(path);
    }
    return paths;
}

} // namespace

ModelController::ModelController(ui::MainWindow& window, EngineWorker& engine, Settings& settings,
                                 QObject* parent)
    : QObject(parent), m_window(window), m_engine(engine), m_settings(settings) {
    m_choice = settings.plan();
    connectSetup();
    connectEngine();
    setBlocked(tr("No model is loaded"));
    m_window.setModelLoaded(false);
    showSlots();
}

ModelController::~ModelController() {
    m_lookStop.request_stop();
    m_pool.waitForDone();
}

void ModelController::connectSetup() {
    ui::ModelSetup& setup = m_window.setup();
    connect(&setup, &ui::ModelSetup::chooseWished, this,
            [this](ui::ModelSlot slot) { chooseFor(slot); });
    connect(&setup, &ui::ModelSetup::chooseAnyWished, this, &ModelController::chooseFiles);
    connect(&setup, &ui::ModelSetup::clearWished, this, &ModelController::clear);
    connect(&setup, &ui::ModelSetup::lookWished, this, &ModelController::look);
    connect(&setup, &ui::ModelSetup::stopLookingWished, this,
            [this] { m_lookStop.request_stop(); });
    connect(&setup, &ui::ModelSetup::filesChosen, this,
            [this](const QStringList& paths) { take(paths, {}); });
    connect(&setup, &ui::ModelSetup::remedyWished, this, &ModelController::carryOut);
    connect(&setup, &ui::ModelSetup::choiceChanged, this, [this](ui::PlanChoice choice) {
        const bool sameLength = m_plan && m_plan->contextTokens == choice.contextTokens;
        if (sameLength && m_choice.contextTokens == 0) choice.contextTokens = 0;
        m_choice = choice;
        plan();
    });
    connect(&setup, &ui::ModelSetup::loadWished, this, &ModelController::loadWith);
    connect(&setup, &ui::ModelSetup::backWished, this, [this] { showChat(); });
    connect(&m_window.loading(), &ui::LoadingPage::cancelWished, this,
            [this] { m_engine.stopLoading(); });
    // Chats can be read and searched without a model.
    const auto toChat = [this] { showChat(); };
    connect(&m_window.sidebar(), &ui::Sidebar::chatChosen, this, toChat);
    connect(&m_window.sidebar(), &ui::Sidebar::hitChosen, this, toChat);
    connect(&m_window.sidebar(), &ui::Sidebar::newChatWished, this, toChat);
    connect(&m_window.transcript(), &ui::TranscriptView::remedyWished, this,
            &ModelController::carryOut);
}

void ModelController::connectEngine() {
    connect(&m_engine, &EngineWorker::loadProgress, this, [this](const engine::LoadProgress& step) {
        double secondsLeft = -1;
        const double elapsed = double(m_sinceLoad.elapsed()) / 1000;
        if (step.bytesDone > 0 && elapsed > 1) {
            secondsLeft =
                elapsed / double(step.bytesDone) * double(step.bytesTotal - step.bytesDone);
        }
        m_window.loading().setProgress(QString::fromStdString(step.phase), step.bytesDone,
                                       step.bytesTotal, secondsLeft);
    });
    connect(&m_engine, &EngineWorker::loaded, this, [this](const LoadedModel& model) {
        m_model = model;
        m_settings.setModelFiles(filesOf(m_trio));
        m_settings.setPlan(m_choice);
        m_window.setModelLoaded(true);
        m_window.setup().setCanGoBack(true);
        setBlocked({});
        showEmptyChat();
        showChat();
        m_window.composer().focusText();
        m_window.hideNotice(QString::fromLatin1(kPlaceNotice));
        if (!model.whyNotCard.isEmpty()) m_window.showNotice(placeNotice(model.whyNotCard));
        emit modelChanged();
    });
    connect(&m_engine, &EngineWorker::loadFailed, this, [this](const Error& error) {
        if (m_engine.loading()) return; // another load was asked for meanwhile
        setBlocked(tr("No model is loaded"));
        showSetup();
        if (error.code == engine::ErrorCode::Cancelled) return;
        m_window.setup().setNotice(errorNotice(QStringLiteral("load"), error, Doing::LoadingModel));
    });
    connect(&m_engine, &EngineWorker::unloaded, this, [this] {
        m_model.reset();
        m_window.setModelLoaded(false);
        m_window.setup().setCanGoBack(false);
        setBlocked(tr("No model is loaded. Model ▸ Load loads it again"));
        emit modelChanged();
    });
}

void ModelController::setBlocked(const QString& reason) {
    m_window.composer().setSendBlocked(reason);
}

// ---- choosing

void ModelController::start(std::vector<std::filesystem::path> files) {
    const std::filesystem::path last = m_settings.modelFiles().target;
    // What was given on the command line replaces what was used last, and does not mix with it.
    if (files.empty() && !last.empty()) {
        std::error_code failure;
        if (!std::filesystem::exists(last, failure)) {
            showSetup();
            ui::Notice notice;
            notice.id = QStringLiteral("files");
            notice.kind = ui::NoticeKind::Warning;
            notice.text =
                tr("The model used last is no longer in its place: %1. Choose where it is now.")
                    .arg(QDir::toNativeSeparators(pathText(last)));
            m_window.setup().setNotice(notice);
            return;
        }
        files = pathsOf(m_settings.modelFiles());
    }
    if (files.empty()) files = demoFiles();
    if (files.empty()) {
        showSetup();
        return;
    }
    // A conversation length was chosen for one model.
    if (std::find(files.begin(), files.end(), last) == files.end()) m_choice.contextTokens = 0;
    showPage(ui::MainWindow::Page::Loading);
    m_window.loading().setModelName(pathText(files.front().filename()));
    m_window.loading().setProgress(tr("Looking at the files"), 0, 0, -1);
    inspectSoon(files, {}, files.size() == 1, {}, true);
}

void ModelController::open(const QStringList& files) {
    // Whoever starts the program once more with the files in use only wants its window.
    const auto inUse = [this](const QString& path) {
        const auto is = [&](const std::filesystem::path& used) {
            std::error_code none;
            return !used.empty() && std::filesystem::equivalent(filePath(path), used, none);
        };
        const engine::ModelFiles& used = m_model->files;
        return is(used.target) || is(used.projector) || is(used.drafter);
    };
    if (m_model && std::all_of(files.begin(), files.end(), inUse)) return;
    showSetup();
    take(files, {});
}

ModelController::Inspected ModelController::inspect(const std::vector<std::filesystem::path>& files,
                                                    const ModelSlots& current, bool companions) {
    automaticPlace(); // opening the driver takes a while the first time: not on the GUI thread
    Inspected result;
    result.trio = engine::sortIntoSlots(files, current);
    if (companions) result.trio = withCompanions(std::move(result.trio));
    if (!result.trio.target) return result;
    engine::Result<engine::PlacementInput> input = placementInput(result.trio);
    if (input.ok()) {
        result.input = std::move(input.value());
    } else {
        result.error = input.error();
    }
    return result;
}

void ModelController::inspectSoon(std::vector<std::filesystem::path> files,
                                  const ModelSlots& current, bool companions,
                                  std::optional<ui::ModelSlot> wished, bool thenLoad) {
    auto* const watcher = new QFutureWatcher<Inspected>(this);
    connect(watcher, &QFutureWatcherBase::finished, this, [this, watcher, wished, thenLoad] {
        watcher->deleteLater();
        inspected(watcher->result(), wished, thenLoad);
    });
    watcher->setFuture(QtConcurrent::run(&m_pool, [files = std::move(files), current, companions] {
        return inspect(files, current, companions);
    }));
}

void ModelController::take(const QStringList& paths, std::optional<ui::ModelSlot> wished) {
    std::vector<std::filesystem::path> files;
    for (const QString& path : paths) files.push_back(filePath(path));
    if (files.empty()) return;
    if (wished) {
        ui::SlotState checking;
        checking.mark = ui::SlotState::Mark::Checking;
        checking.sentence = tr("Looking at the file");
        m_window.setup().setSlot(*wished, checking);
    }
    m_window.setup().setNotice(std::nullopt);
    ModelSlots current = m_trio;
    current.refused.clear();
    // A new target brings what lies beside it; parts of another model are let go by the sorting.
    inspectSoon(std::move(files), current, true, wished, false);
}

void ModelController::inspected(const Inspected& result, std::optional<ui::ModelSlot> wished,
                                bool thenLoad) {
    if (m_trio.target && result.trio.target && m_trio.target->path != result.trio.target->path) {
        m_choice.contextTokens = 0;
    }
    m_trio = result.trio;
    m_input = result.input;
    showSlots();
    showRefused(result, wished);
    plan();
    if (!thenLoad) return;
    // Something is not as expected: the person decides.
    const bool ready = m_input && m_plan && m_plan->fits && m_trio.refused.empty();
    if (ready) {
        loadWith(m_choice);
    } else {
        showPage(ui::MainWindow::Page::Setup);
    }
}

void ModelController::showSlots() {
    for (const ui::ModelSlot slot : kSlots) {
        const std::optional<ModelFileInfo>& part = partOf(m_trio, slot);
        m_window.setup().setSlot(slot, part ? goodSlot(*part, slot) : ui::SlotState());
    }
}

void ModelController::showRefused(const Inspected& result, std::optional<ui::ModelSlot> wished) {
    QStringList sentences;
    for (const ModelFileInfo& info : result.trio.refused) {
        sentences.append(tr("%1: %2").arg(pathText(info.path.filename()),
                                          QString::fromStdString(info.sentence)));
    }
    if (result.error) sentences.append(errorText(*result.error, Doing::LoadingModel));
    if (wished && result.trio.refused.size() == 1 && !partOf(m_trio, *wished)) {
        ui::SlotState bad;
        bad.mark = ui::SlotState::Mark::Bad;
        bad.sentence = QString::fromStdString(result.trio.refused.front().sentence);
        bad.detail = pathText(result.trio.refused.front().path.filename());
        m_window.setup().setSlot(*wished, bad);
        return;
    }
    if (wished && sentences.isEmpty() && !partOf(m_trio, *wished)) {
        // The file went to another slot than the one it was chosen for.
        for (const ui::ModelSlot slot : kSlots) {
            if (!partOf(m_trio, slot) || slotFor(partOf(m_trio, slot)->role) == wished) continue;
            sentences = {tr("This file belongs in %1, and is there now.").arg(slotName(slot))};
        }
    }
    if (sentences.isEmpty()) {
        m_window.setup().setNotice(std::nullopt);
        return;
    }
    ui::Notice notice;
    notice.id = QStringLiteral("files");
    notice.kind = ui::NoticeKind::Warning;
    notice.text = sentences.join(QLatin1Char('\n'));
    m_window.setup().setNotice(notice);
}

void ModelController::chooseFiles() {
    chooseFor({});
}

void ModelController::chooseFor(std::optional<ui::ModelSlot> slot) {
    auto* const dialog = new QFileDialog(&m_window, tr("Model Files"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(slot ? QFileDialog::ExistingFile : QFileDialog::ExistingFiles);
    dialog->setNameFilters({tr("Model files (*.gguf)"), tr("All files (*)")});
    const QString last = m_trio.target
                             ? pathText(m_trio.target->path.parent_path())
                             : QStandardPaths::writableLocation(QStandardPaths::DownloadLocation);
    dialog->setDirectory(last);
    connect(dialog, &QFileDialog::filesSelected, this,
            [this, slot](const QStringList& paths) { take(paths, slot); });
    dialog->open();
}

void ModelController::clear(ui::ModelSlot slot) {
    if (slot == ui::ModelSlot::Target) {
        m_trio = {};
        m_input.reset();
    } else {
        partOf(m_trio, slot).reset();
        if (m_input && slot == ui::ModelSlot::Projector) m_input->vision.reset();
        if (m_input && slot == ui::ModelSlot::Drafter) m_input->draft.reset();
    }
    showSlots();
    plan();
}

void ModelController::look() {
    m_lookStop.request_stop();
    m_lookStop = std::stop_source();
    m_window.setup().setSearching(true);
    auto* const watcher = new QFutureWatcher<std::vector<LibraryFile>>(this);
    connect(watcher, &QFutureWatcherBase::finished, this, [this, watcher] {
        watcher->deleteLater();
        QList<ui::FoundFile> found;
        for (const LibraryFile& file : watcher->result()) {
            ui::FoundFile entry;
            entry.path = pathText(file.info.path);
            entry.name = pathText(file.info.path.filename());
            entry.bytes = file.info.presentBytes;
            if (file.info.usable()) entry.slot = slotFor(file.info.role);
            if (!entry.slot) entry.note = QString::fromStdString(file.info.sentence);
            entry.where = file.place;
            found.append(entry);
        }
        m_window.setup().setSearching(false);
        m_window.setup().setFound(found);
        if (!m_trio.target) takeIfPlain(found);
    });
    const auto entering = [this](const QString& where) {
        QMetaObject::invokeMethod(
            this, [this, where] { m_window.setup().setSearching(true, where); },
            Qt::QueuedConnection);
    };
    watcher->setFuture(
        QtConcurrent::run(&m_pool, [places = libraryPlaces(), stop = m_lookStop.get_token(),
                                    entering] { return lookForModels(places, stop, entering); }));
}

// One model on the whole computer: then there is nothing to choose, and its slots fill by
// themselves.
void ModelController::takeIfPlain(const QList<ui::FoundFile>& found) {
    QStringList paths;
    for (const ui::ModelSlot slot : kSlots) {
        const auto fits = [&](const ui::FoundFile& file) { return file.slot == slot; };
        const auto count = std::count_if(found.begin(), found.end(), fits);
        if (slot == ui::ModelSlot::Target && count != 1) return;
        if (count == 1) paths.append(std::find_if(found.begin(), found.end(), fits)->path);
    }
    take(paths, {});
}

// ---- planning and loading

void ModelController::plan() {
    m_plan.reset();
    if (!m_input) {
        m_window.setup().setPlan(std::nullopt);
        return;
    }
    ComputePlace place = automaticPlace();
    const auto planIn = [&](qint64 context, const ui::PlanChoice& choice) {
        m_input->totalBytes = place.memory.totalBytes;
        // What the loaded model takes comes free when another is loaded.
        m_input->freeBytes = place.memory.freeBytes;
        if (m_model && m_model->onCard == place.card) m_input->freeBytes += m_model->memory.total();
        return engine::planFor(*m_input, context, choice.vision, choice.draft);
    };
    ui::PlanState state;
    state.visionPossible = m_input->vision.has_value();
    state.draftPossible = m_input->draft.has_value();
    state.choice.vision = m_choice.vision && state.visionPossible;
    state.choice.draft = m_choice.draft && state.draftPossible;
    state.maxContextTokens = m_input->text.contextLimit;
    qint64 context = m_choice.contextTokens;
    if (state.maxContextTokens > 0) context = std::min(context, state.maxContextTokens);
    state.plan = planIn(context, state.choice);
    state.place = placeSentence(place);
    if (!state.plan.fits && place.card) {
        // As loading does: what the card cannot hold runs on the processor.
        const QString card = QString::fromStdString(place.name);
        place = processorPlace();
        state.plan = planIn(context, state.choice);
        state.place = tooLargeForCard(card);
    }
    state.choice.contextTokens = state.plan.contextTokens;
    if (!state.plan.fits) {
        for (const engine::PlacementPlan& offer : engine::planAll(*m_input)) {
            if (offer.fits) state.offers.push_back(offer);
        }
    }
    m_plan = state.plan;
    m_window.setup().setPlan(state);
}

void ModelController::showSetup() {
    plan();
    showPage(ui::MainWindow::Page::Setup);
}

void ModelController::showChat() {
    showPage(ui::MainWindow::Page::Chat);
}

void ModelController::showPage(ui::MainWindow::Page page) {
    m_window.showPage(page);
    if (page != ui::MainWindow::Page::Chat)
        m_window.setTitle(m_model ? tr("Model files") : tr("Welcome"));
    emit pageShown(page);
}

void ModelController::load() {
    if (m_input) {
        loadWith(m_choice);
    } else {
        showSetup();
    }
}

void ModelController::loadWith(const ui::PlanChoice& choice) {
    if (!m_trio.target) return;
    // The card shows a number where "as much as fits" was meant; that stays meant until it is
    // moved.
    const bool untouched =
        m_choice.contextTokens == 0 && m_plan && m_plan->contextTokens == choice.contextTokens;
    m_choice = choice;
    if (untouched) m_choice.contextTokens = 0;
    m_window.setup().setNotice(std::nullopt);
    LoadRequest request;
    request.files = filesOf(m_trio);
    if (!choice.vision) request.files.projector.clear();
    if (!choice.draft) request.files.drafter.clear();
    request.options.contextTokens = m_choice.contextTokens;
    if (m_input && m_input->text.contextLimit > 0) {
        request.options.contextTokens =
            std::min<std::int64_t>(request.options.contextTokens, m_input->text.contextLimit);
    }
    request.backend.threads = m_settings.values().threads;
    if (m_model) {
        m_model.reset();
        m_window.setModelLoaded(false);
        emit modelChanged();
    }
    setBlocked(tr("The model is being loaded"));
    m_window.loading().setModelName(modelName(*m_trio.target));
    m_window.loading().setProgress(tr("Opening the files"), 0, 0, -1);
    showPage(ui::MainWindow::Page::Loading);
    m_sinceLoad.start();
    m_engine.load(request);
}

void ModelController::unload() {
    if (m_model) m_engine.unload();
}

void ModelController::carryOut(const QString& id) {
    if (id == QLatin1String(remedy::kChooseFiles)) chooseFiles();
    if (id == QLatin1String(remedy::kReload)) load();
    if (id == QLatin1String(remedy::kMoreRoom)) showSetup();
    if (id == QLatin1String(remedy::kShorter)) {
        const qint64 now = m_plan ? m_plan->contextTokens : m_choice.contextTokens;
        m_choice.contextTokens = std::max<qint64>(engine::kContextStep, now / 2);
        load();
    }
    if (id == QLatin1String(remedy::kWithoutVision)) {
        m_choice.vision = false;
        load();
    }
    if (id == QLatin1String(remedy::kWithoutDraft)) {
        m_choice.draft = false;
        load();
    }
}

QString ModelController::modelLine() const {
    if (!m_model || !m_trio.target) return {};
    if (m_trio.target->testModel) {
        return tr("%1 · test model, answers nonsense").arg(modelName(*m_trio.target));
    }
    return tr("%1 · %2").arg(modelName(*m_trio.target), diskSize(m_trio.target->presentBytes));
}

void ModelController::showEmptyChat() {
    ui::EmptyChat empty;
    empty.title = modelName(*m_trio.target);
    empty.sentence = tr("It runs on this computer. What you write stays here.");
    if (m_trio.target->testModel) {
        empty.notice = tr("This is a test model: it answers nonsense. Choose a real one under File "
                          "▸ Model Files…");
    }
    empty.starters = {tr("Explain how tides come about, in plain words."),
                      tr("Help me write a friendly letter to my neighbour about the hedge."),
                      m_model->vision
                          ? tr("What does this screenshot show, and what should I do about it?")
                          : tr("Make a checklist for moving to a new flat.")};
    if (isDemoModel(*m_trio.target)) {
        empty.starters = {tr("How do I start a new chat?"), tr("What is 17 × 23?"),
                          m_model->vision ? tr("How do I attach a picture?")
                                          : tr("What can you do?")};
    }
    m_window.transcript().setEmptyChat(empty);
}

} // namespace app
