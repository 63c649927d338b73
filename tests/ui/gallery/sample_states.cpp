#include "sample_states.h"

#include "ui/composer.h"
#include "ui/model_setup.h"
#include "ui/performance_panel.h"
#include "ui/sidebar.h"
#include "ui/status_line.h"
#include "ui/transcript_view.h"

#include <QApplication>
#include <QLineEdit>
#include <QMouseEvent>
#include <QPainter>

#include <cmath>

namespace gallery {

namespace {

constexpr qint64 kGiB = 1024ll * 1024 * 1024;

ui::ChatEntry chat(qint64 id, const char* title, int daysAgo, bool pinned = false) {
    return {id,
            QString::fromUtf8(title),
            QDateTime::currentDateTime().addDays(-daysAgo).addSecs(-id * 60),
            pinned,
            false,
            false};
}

void fillSidebar(Shown& shown) {
    QList<ui::ChatEntry> chats = {
        chat(1, "Garden plan for spring", 12, true),
        chat(2, "Error on the invoice page", 0),
        chat(3, "Letter to the landlord", 0),
        chat(4, "Reading list, short novels", 0),
        chat(5, "Tax form screenshot", 1),
        chat(6, "Bread with little yeast", 1),
        chat(7, "Names for the boat", 1),
        chat(8, "Excel: sum by month", 4),
        chat(9, "Summary of the lease", 5),
    };
    chats[1].running = true;
    chats[4].unread = true;
    shown.window.sidebar().setChats(chats);
    shown.window.sidebar().setCurrent(2);
}

QImage errorPicture() {
    QImage image(520, 290, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    painter.setRenderHint(QPainter::Antialiasing);
    QFont font = painter.font();
    font.setPixelSize(24);
    font.setBold(true);
    painter.setFont(font);
    painter.setPen(QColor(0xB4, 0x23, 0x18));
    painter.drawText(26, 50, "Something went wrong");
    font.setPixelSize(19);
    font.setBold(false);
    painter.setFont(font);
    painter.setPen(QColor(0x44, 0x44, 0x4a));
    painter.drawText(26, 110, "Invoice 2041 could not be saved.");
    painter.drawText(26, 138, "TypeError: total.toFixed is not a function");
    painter.drawText(40, 166, "at renderInvoice (invoice.js:88)");
    painter.drawText(26, 230, "[ Try again ]   [ Cancel ]");
    return image;
}

engine::Message message(qint64 id, engine::Role role, const char* text) {
    engine::Message out;
    out.id = id;
    out.parentId = id - 1;
    out.role = role;
    out.text = text;
    return out;
}

ui::PanelState panelState(const char* state) {
    ui::PanelState panel;
    panel.state = state;
    panel.place = "Everything runs on your processor.";
    ui::MemoryFigures memory;
    memory.parts.model = 15.6 * kGiB;
    memory.parts.vision = 1.4 * kGiB;
    memory.parts.draft = 1.6 * kGiB;
    memory.parts.conversation = 0.9 * kGiB;
    memory.otherBytes = 3.1 * kGiB;
    memory.totalBytes = 32 * kGiB;
    memory.freeBytes = memory.totalBytes - memory.otherBytes - memory.parts.total();
    panel.memory = memory;
    panel.draftAvailable = true;
    panel.guessedTokens = 1480;
    panel.acceptedTokens = 412;
    panel.gain = 3.1;
    panel.contextUsed = 12480;
    panel.contextTotal = 131072;
    panel.firstWordSeconds = 1.9;
    engine::AnswerFigures last;
    last.writtenTokens = 512;
    last.writeSeconds = 36.2;
    last.readTokens = 1210;
    last.promptTokens = 12480;
    last.thinkingSeconds = 6;
    panel.lastAnswer = last;
    return panel;
}

void common(Shown& shown) {
    fillSidebar(shown);
    shown.window.setStrength(engine::ThinkingStrength::Medium);
    shown.window.setMemoryDot("19.5 of 32 GiB", ui::NoticeKind::Info, "Enough memory is free.");
    shown.window.statusLine().setSaved("Saved");
    shown.window.statusLine().setModel("Muse Glimmer 30B, 17 GB build");
    shown.window.setModelLoaded(true);
}

const char* const kAnswer = "The page tries to format the total as money, but at that moment "
                            "`total` is text, not a number. Text has no "
                            "`toFixed`, so line 88 of **invoice.js** stops.\n\nTurn it into a "
                            "number before formatting:\n\n```javascript\nconst "
                            "total = Number(invoice.total);\nif (Number.isNaN(total)) throw new "
                            "Error(\"total is missing\");\ncell.textContent = "
                            "total.toFixed(2);\n```\n\nIf totals arrive with a comma, as in "
                            "**1.204,50**, replace it first; otherwise the value "
                            "becomes";

void startQuestion(Shown& shown) {
    common(shown);
    shown.window.setTitle("Error on the invoice page");
    engine::Message question =
        message(1, engine::Role::User, "What does this error mean, and how do I fix it?");
    engine::Attachment file;
    file.sha256 = "abc";
    file.fileName = "error.png";
    file.width = 520;
    file.height = 290;
    question.attachments.push_back(file);
    shown.model.setRows({{question, 1, 1}});
    shown.model.setPicture("abc", errorPicture());
}

void answering(Shown& shown) {
    startQuestion(shown);
    engine::Message answer = message(2, engine::Role::Assistant, "");
    answer.thinking =
        "The picture shows a TypeError. toFixed exists on numbers only, so total must be a string.";
    answer.figures.thinkingSeconds = 6;
    answer.state = engine::MessageState::Growing;
    shown.window.setAnswering(true);
    shown.model.appendRow({answer, 1, 1});
    ui::Activity activity;
    activity.kind = ui::Activity::Kind::Answering;
    shown.model.setActivity(activity);
    shown.model.appendDelta({engine::Channel::Answer, kAnswer});
    ui::Composer& composer = shown.window.composer();
    composer.attachPath("page-full.png");
    ui::AttachmentChip chip;
    chip.id = 1;
    chip.state = ui::AttachmentChip::State::Ready;
    chip.name = "page-full.png";
    chip.tokens = 2650;
    chip.shrunkPercent = 53;
    chip.thumbnail = errorPicture();
    composer.setChip(chip);
    composer.setTokenPrice(2710);
    ui::PanelState panel = panelState("Answering");
    for (int i = 0; i < 40; ++i) {
        panel.readingPerSecond = i > 5 && i < 9 ? std::optional(1780.0) : std::nullopt;
        panel.writingPerSecond =
            i < 9 ? std::nullopt : std::optional(13.0 + std::sin(i * 0.9) + i * 0.05);
        shown.window.panel().setState(panel);
    }
    shown.window.statusLine().setState("Answering · 214 words");
}

void thinking(Shown& shown) {
    startQuestion(shown);
    engine::Message answer = message(2, engine::Role::Assistant, "");
    answer.state = engine::MessageState::Growing;
    answer.thinking = "The picture shows a TypeError.";
    shown.window.setAnswering(true);
    shown.model.appendRow({answer, 1, 1});
    ui::Activity activity;
    activity.kind = ui::Activity::Kind::Thinking;
    activity.thinkingSeconds = 12;
    shown.model.setActivity(activity);
    shown.window.panel().setState(panelState("Thinking"));
    shown.window.statusLine().setState("Thinking");
}

void reading(Shown& shown) {
    startQuestion(shown);
    engine::Message answer = message(2, engine::Role::Assistant, "");
    answer.state = engine::MessageState::Growing;
    shown.window.setAnswering(true);
    shown.model.appendRow({answer, 1, 1});
    ui::Activity activity;
    activity.kind = ui::Activity::Kind::Reading;
    activity.readDone = 6200;
    activity.readTotal = 18400;
    activity.secondsLeft = 9;
    activity.why = "The thinking strength changed, so the conversation is read again.";
    shown.model.setActivity(activity);
    shown.window.panel().setState(panelState("Reading"));
    shown.window.statusLine().setState("Reading 34 %");
}

void stopped(Shown& shown) {
    startQuestion(shown);
    engine::Message answer = message(2, engine::Role::Assistant, kAnswer);
    answer.state = engine::MessageState::Stopped;
    answer.figures.thinkingSeconds = 6;
    answer.thinking = "The picture shows a TypeError. toFixed exists on numbers only, so total "
                      "must be a string.\n\nI "
                      "should show the fix first, then the comma case.";
    shown.model.appendRow({answer, 2, 3});
    shown.window.panel().setState(panelState("Ready"));
    shown.window.statusLine().setState("Ready · 12,480 of 131,072 tokens");
}

void hovered(Shown& shown) {
    stopped(shown);
    QWidget* port = shown.window.transcript().viewport();
    const QPointF at(port->width() / 2.0, port->height() - 120);
    QMouseEvent move(QEvent::MouseMove, at, port->mapToGlobal(at), Qt::NoButton, Qt::NoButton, {});
    QApplication::sendEvent(port, &move);
}

void error(Shown& shown) {
    startQuestion(shown);
    ui::Notice card;
    card.id = "answer";
    card.kind = ui::NoticeKind::Bad;
    card.text = "There was not enough memory: 1.2 GiB more is needed, other programs hold 6 GiB.";
    card.details = "reading the prompt: kv cache: needs 1.2 GiB, 0.3 GiB free";
    card.remedies = {{"shorter", "Use Shorter Conversation"},
                     {"no-draft", "Turn Drafting Off"},
                     {"again", "Try Again"}};
    shown.model.setErrorCard(card);
    ui::Notice bar;
    bar.id = "saving";
    bar.kind = ui::NoticeKind::Warning;
    bar.text = "Not saved since 14:02 – the disk is full.";
    bar.remedies = {{"again", "Try Again"}, {"elsewhere", "Save Copy Elsewhere"}};
    shown.window.showNotice(bar);
    shown.window.panel().setState(panelState("Ready"));
    shown.window.statusLine().setState("Ready");
    shown.window.statusLine().setSaved("Not saved");
}

const char* const kMarkdown = "# A heading\n\nA paragraph with *emphasis*, **strength**, `code`, "
                              "~~wrong~~ and a [link](https://example.org). HTML "
                              "stays text: <b>bold</b>.\n\n## Lists\n\n1. First\n2. Second, which "
                              "is long enough that it must be broken into a "
                              "second line within the column of the transcript\n   - inner one\n   "
                              "- inner two\n     1. deeper\n3. Third\n\n- [x] "
                              "done\n- [ ] open\n\n> A quotation that says something\n> over two "
                              "lines.\n\n| Part | Memory | Share |\n|:--|--:|:-:|\n| "
                              "Model | 15.6 GiB | 82 % |\n| Vision part | 1.4 GiB | 7 % |\n| Draft "
                              "help, with a longer name | 1.6 GiB | 8 % "
                              "|\n\n---\n\n### A formula\n\nInline \\(a_1^2 + b_1^2 = c^2\\) keeps "
                              "its source.\n\n```python\ndef "
                              "quick(values):\n    if len(values) < 2: return values\n    pivot, "
                              "rest = values[0], values[1:]\n    return quick([v for "
                              "v in rest if v < pivot]) + [pivot] + quick([v for v in rest if v >= "
                              "pivot])  # a line too long for the card\n```\n";

void markdown(Shown& shown) {
    common(shown);
    shown.window.setTitle("Everything Markdown can do");
    shown.model.setRows({{message(1, engine::Role::User, "Show me everything."), 1, 1},
                         {message(2, engine::Role::Assistant, kMarkdown), 1, 1}});
    shown.window.transcript().scrollToMessage(1);
    shown.window.panel().setState(panelState("Ready"));
    shown.window.statusLine().setState("Ready");
}

void empty(Shown& shown) {
    common(shown);
    shown.window.setTitle("New chat");
    shown.window.sidebar().setCurrent(0);
    ui::EmptyChat page;
    page.title = "Muse Glimmer 30B";
    page.sentence = "Everything you write stays on this computer.";
    page.notice = "This is a test model: it answers nonsense.";
    page.starters = {
        "Explain this screenshot to me: what does the message mean, and what should I do?",
        "Write a friendly letter to my landlord about the broken heating.",
        "Plan a week of quick dinners for two, without meat."};
    shown.window.transcript().setEmptyChat(page);
    shown.model.setRows({});
    shown.window.panel().setState({"Ready",
                                   "Everything runs on your processor.",
                                   {},
                                   {},
                                   {},
                                   {},
                                   false,
                                   false,
                                   {},
                                   {},
                                   {},
                                   {},
                                   {},
                                   {}});
    shown.window.statusLine().setState("Ready · 0 of 131,072 tokens");
}

void setup(Shown& shown) {
    fillSidebar(shown);
    shown.window.setTitle("Welcome");
    shown.window.sidebar().setCurrent(0);
    shown.window.setMemoryDot("no model loaded", ui::NoticeKind::Info);
    shown.window.showPage(ui::MainWindow::Page::Setup);
    ui::ModelSetup& page = shown.window.setup();
    ui::SlotState slot;
    slot.mark = ui::SlotState::Mark::Good;
    slot.sentence = "Muse Glimmer 30B, 17 GB build";
    slot.detail = "Muse-Glimmer-30B-KQuant-17GB-Q4_K_M.gguf · 16.76 GB · in LM Studio's folder";
    page.setSlot(ui::ModelSlot::Target, slot);
    slot.sentence = "Fits this model";
    slot.detail = "mmproj-Muse-Glimmer-30B-Q4_K_M.gguf · 1.40 GB";
    page.setSlot(ui::ModelSlot::Projector, slot);
    slot.mark = ui::SlotState::Mark::Warning;
    slot.sentence = "This file is still being downloaded: 0.9 of 1.63 GB.";
    slot.detail = "dflash-Muse-Glimmer-30B-Q4_K_M.gguf.part · Glint works without it, about three "
                  "times slower";
    slot.remedies = {{"wait", "Wait for It"}, {"without", "Go On Without"}};
    page.setSlot(ui::ModelSlot::Drafter, slot);
    ui::PlanState plan;
    plan.maxContextTokens = 131072;
    plan.choice = {131072, true, true};
    plan.plan.fits = true;
    plan.plan.contextTokens = 131072;
    plan.plan.memory.model = 15.6 * kGiB;
    plan.plan.memory.vision = 1.4 * kGiB;
    plan.plan.memory.draft = 1.6 * kGiB;
    plan.plan.memory.conversation = 1.7 * kGiB;
    plan.plan.totalBytes = 32 * kGiB;
    plan.plan.freeBytes = 28.9 * kGiB;
    plan.visionPossible = plan.draftPossible = true;
    plan.place = "Runs on your processor: no graphics card that Glint can use was found.";
    page.setPlan(plan);
    shown.window.statusLine().setState("No model loaded");
    shown.window.statusLine().setSaved("Saved");
}

void firstStart(Shown& shown) {
    shown.window.setTitle("Welcome");
    shown.window.setMemoryDot("no model loaded", ui::NoticeKind::Info);
    shown.window.showPage(ui::MainWindow::Page::Setup);
    shown.window.statusLine().setState("No model loaded");
}

void noFit(Shown& shown) {
    setup(shown);
    ui::PlanState plan;
    plan.maxContextTokens = 131072;
    plan.choice = {131072, true, true};
    plan.plan.contextTokens = 131072;
    plan.plan.memory.model = 15.6 * kGiB;
    plan.plan.memory.vision = 1.4 * kGiB;
    plan.plan.memory.draft = 1.6 * kGiB;
    plan.plan.memory.conversation = 1.7 * kGiB;
    plan.plan.totalBytes = 24 * kGiB;
    plan.plan.freeBytes = 19 * kGiB;
    plan.visionPossible = plan.draftPossible = true;
    engine::PlacementPlan offer = plan.plan;
    offer.fits = true;
    offer.contextTokens = 32768;
    offer.useVision = offer.useDraft = true;
    plan.offers.push_back(offer);
    offer.useDraft = false;
    offer.contextTokens = 131072;
    plan.offers.push_back(offer);
    shown.window.setup().setPlan(plan);
}

void loading(Shown& shown) {
    fillSidebar(shown);
    shown.window.setTitle("Loading");
    shown.window.showPage(ui::MainWindow::Page::Loading);
    shown.window.loading().setModelName("Muse Glimmer 30B");
    shown.window.loading().setProgress("Reading the model", 6'240'000'000, 16'760'000'000, 14);
    shown.window.statusLine().setState("Loading the model");
    shown.window.panel().setState(
        {"Loading", {}, {}, {}, {}, {}, false, false, {}, {}, {}, {}, {}, {}});
}

void rightToLeft(Shown& shown) {
    common(shown);
    shown.window.setTitle("שיחה מעורבת");
    shown.model.setRows(
        {{message(1, engine::Role::User, "API هذا شرح\nWhat does that mean?\nמה זה אומר בעברית?"),
          1, 1},
         {message(2, engine::Role::Assistant,
                  "هذا نص عربي فيه كلمة API داخل السطر، وهو طويل بما يكفي ليملأ أكثر من سطر واحد "
                  "في عمود النص.\n\n- بند "
                  "أول\n- بند ثانٍ\n\nAnd an English paragraph, left to right, with `code`.\n\n> "
                  "ציטוט בעברית\n\n```c\nint "
                  "main() { return 0; }\n```\n"),
          1, 1}});
    shown.window.panel().setState(panelState("Ready"));
    shown.window.statusLine().setState("Ready");
}

void searching(Shown& shown) {
    answering(shown);
    auto* field = shown.window.sidebar().findChild<QLineEdit*>();
    field->setText("lease");
    shown.window.sidebar().setHits(
        "lease", {{9, 0, "Summary of the lease", "Summary of the lease", 15, 5},
                  {3, 4, "Letter to the landlord",
                   "…the heating is part of the lease, so the landlord must repair it", 25, 5}});
}

} // namespace

std::vector<SampleState> sampleStates() {
    using enum ui::ThemeChoice;
    const QSize wide(1440, 900);
    return {
        {"answering-light", wide, Light, 100, false, answering},
        {"answering-dark", wide, Dark, 100, false, answering},
        {"setup-light", wide, Light, 100, false, setup},
        {"setup-dark", wide, Dark, 100, false, setup},
        {"first-start", QSize(1280, 800), Light, 100, false, firstStart},
        {"no-fit", QSize(1280, 900), Light, 100, false, noFit},
        {"loading", QSize(1280, 800), Light, 100, false, loading},
        {"empty-chat", QSize(1280, 800), Light, 100, false, empty},
        {"empty-chat-dark", QSize(1280, 800), Dark, 100, false, empty},
        {"reading", QSize(1280, 800), Light, 100, false, reading},
        {"thinking", QSize(1280, 800), Dark, 100, false, thinking},
        {"stopped", QSize(1280, 800), Light, 100, false, stopped},
        {"hovered", QSize(1280, 800), Light, 100, false, hovered},
        {"error", QSize(1280, 800), Light, 100, false, error},
        {"error-dark", QSize(1280, 800), Dark, 100, false, error},
        {"markdown", QSize(1280, 1500), Light, 100, false, markdown},
        {"markdown-dark", QSize(1280, 1500), Dark, 100, false, markdown},
        {"search", QSize(1280, 800), Light, 100, false, searching},
        {"narrow", QSize(640, 480), Light, 100, false, answering},
        {"narrow-setup", QSize(640, 640), Light, 100, false, setup},
        {"large-text", QSize(1280, 900), Light, 200, false, answering},
        {"large-text-setup", QSize(1280, 900), Light, 200, false, setup},
        {"right-to-left", QSize(1280, 800), Light, 100, true, rightToLeft},
    };
}

} // namespace gallery
