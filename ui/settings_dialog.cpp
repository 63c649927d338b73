#include "ui/settings_dialog.h"

#include "ui/controls.h"
#include "ui/strength_menu.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QThread>
#include <QVBoxLayout>

#include <vector>

namespace ui {

namespace {

// Ready-made answer styles; the second is the model's own recommendation.
struct Style {
    const char* name;
    float temperature;
};
const Style kStyles[] = {
    {QT_TRANSLATE_NOOP("ui::SettingsDialog", "Precise"), 0.3f},
    {QT_TRANSLATE_NOOP("ui::SettingsDialog", "Balanced (recommended)"), 1.0f},
    {QT_TRANSLATE_NOOP("ui::SettingsDialog", "Inventive"), 1.3f},
};

engine::SamplerSettings samplingOf(const Style& style) {
    engine::SamplerSettings sampling;
    sampling.temperature = style.temperature;
    return sampling;
}

} // namespace

class SettingsDialog::Private : public QObject {
    Q_DECLARE_TR_FUNCTIONS(ui::SettingsDialog)
public:
    explicit Private(SettingsDialog* dialog) : QObject(dialog), q(dialog) {}

    SettingsDialog* q;
    SettingsValues values;
    bool filling = false;
    QFormLayout* form = nullptr;
    QComboBox *theme, *strength, *draft, *style;
    QSpinBox *zoom, *threads;
    QCheckBox *enterSends, *searchThinking;
    struct Number {
        const engine::SamplerParameter* parameter;
        QDoubleSpinBox* box;
    };
    std::vector<Number> numbers;

    void heading(const QString& text) {
        auto* title = label(text, q);
        setFontRole(title, FontRole::Strong);
        title->setContentsMargins(0, form->rowCount() ? 14 : 0, 0, 2);
        form->addRow(title);
    }

    template<class Widget>
    Widget* row(const QString& name, Widget* widget, const QString& tip = {}) {
        widget->setAccessibleName(name);
        widget->setToolTip(tip);
        auto* text = label(name, q);
        text->setBuddy(widget);
        form->addRow(text, widget);
        return widget;
    }

    void show() {
        filling = true;
        theme->setCurrentIndex(theme->findData(int(values.theme)));
        zoom->setValue(values.textZoom);
        enterSends->setChecked(values.enterSends);
        strength->setCurrentIndex(strength->findData(int(values.strength)));
        int draftRow = draft->findData(values.draftLength.tokens);
        if (draftRow < 0) {
            draft->addItem(tr("%1 words").arg(values.draftLength.tokens),
                           values.draftLength.tokens);
            draftRow = draft->count() - 1;
        }
        draft->setCurrentIndex(draftRow);
        int styleRow = int(std::size(kStyles));
        for (size_t i = 0; i < std::size(kStyles); ++i)
            if (values.sampling == samplingOf(kStyles[i])) styleRow = int(i);
        style->setCurrentIndex(styleRow);
        for (const Number& number : numbers)
            number.box->setValue(number.parameter->get(values.sampling));
        searchThinking->setChecked(values.searchThinking);
        threads->setValue(values.threads);
        filling = false;
    }

    void change() {
        if (filling) return;
        SettingsValues next = values;
        next.theme = ThemeChoice(theme->currentData().toInt());
        next.textZoom = zoom->value();
        next.enterSends = enterSends->isChecked();
        next.strength = engine::ThinkingStrength(strength->currentData().toInt());
        next.draftLength.tokens = draft->currentData().toInt();
        for (const Number& number : numbers) {
            // A box shows fewer digits than the value may have; only what was changed is taken.
            QDoubleSpinBox shown;
            shown.setDecimals(number.box->decimals());
            shown.setRange(number.box->minimum(), number.box->maximum());
            shown.setValue(number.parameter->get(values.sampling));
            if (shown.value() != number.box->value())
                number.parameter->set(next.sampling, number.box->value());
        }
        next.searchThinking = searchThinking->isChecked();
        next.threads = threads->value();
        if (next == values) return;
        values = next;
        show();
        emit q->valuesChanged(values);
    }
};

SettingsDialog::SettingsDialog(QWidget* parent) : QDialog(parent), d(new Private(this)) {
    setWindowTitle(tr("Settings"));
    auto* column = new QVBoxLayout(this);
    auto* scroll = new QScrollArea(this);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setFocusPolicy(Qt::NoFocus);
    scroll->setAccessibleName(tr("Settings"));
    scroll->verticalScrollBar()->setAccessibleName(tr("Scroll the settings"));
    scroll->horizontalScrollBar()->setAccessibleName(tr("Scroll the settings sideways"));
    auto* page = new QWidget(scroll);
    page->setAccessibleName(tr("Settings"));
    scroll->setWidget(page);
    column->addWidget(scroll, 1);
    d->form = new QFormLayout(page);
    d->form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    d->form->setRowWrapPolicy(QFormLayout::WrapLongRows);
    d->form->setVerticalSpacing(8);

    d->heading(tr("Look"));
    d->theme = d->row(tr("Theme"), new QComboBox(page));
    d->theme->addItem(tr("Like the system"), int(ThemeChoice::System));
    d->theme->addItem(tr("Light"), int(ThemeChoice::Light));
    d->theme->addItem(tr("Dark"), int(ThemeChoice::Dark));
    d->zoom = d->row(tr("Text size"), new QSpinBox(page));
    d->zoom->setRange(kMinTextZoom, kMaxTextZoom);
    d->zoom->setSingleStep(25);
    d->zoom->setSuffix(tr(" %"));
    d->zoom->setKeyboardTracking(false);

    d->heading(tr("Writing"));
    d->enterSends = new QCheckBox(tr("Enter sends, Shift+Enter begins a new line"), page);
    d->form->addRow(d->enterSends);

    d->heading(tr("New chats"));
    d->strength = d->row(tr("Thinking"), new QComboBox(page),
                         tr("How long the model thinks before it answers"));
    for (const auto strength :
         {engine::ThinkingStrength::Low, engine::ThinkingStrength::Medium,
          engine::ThinkingStrength::High, engine::ThinkingStrength::ExtraHigh})
        d->strength->addItem(strengthText(strength), int(strength));
    d->draft =
        d->row(tr("Draft length"), new QComboBox(page),
               tr("How many words the small model guesses at a time. The text stays the same."));
    d->draft->addItem(tr("Automatic (recommended)"), engine::DraftLength::kAutomatic);
    d->draft->addItem(tr("Off"), 0);
    d->draft->addItem(tr("Short (4)"), 4);
    d->draft->addItem(tr("Medium (8)"), 8);
    d->draft->addItem(tr("Long (12)"), 12);
    d->draft->addItem(tr("Longest (15)"), 15);

    d->heading(tr("Answer style"));
    d->style = d->row(tr("Style"), new QComboBox(page));
    for (const Style& style : kStyles) d->style->addItem(tr(style.name));
    d->style->addItem(tr("Custom"));
    for (const engine::Sampler& sampler : engine::samplerTable())
        for (const engine::SamplerParameter& parameter : sampler.parameters) {
            const QString name =
                QString::fromUtf8(parameter.name.data(), qsizetype(parameter.name.size()));
            auto* box = d->row(name, new QDoubleSpinBox(page));
            box->setDecimals(parameter.whole ? 0 : 2);
            box->setRange(parameter.least, parameter.most);
            box->setSingleStep(parameter.step);
            box->setKeyboardTracking(false);
            d->numbers.push_back({&parameter, box});
        }

    d->heading(tr("Search"));
    d->searchThinking = new QCheckBox(tr("Search in what the model thought, too"), page);
    d->form->addRow(d->searchThinking);

    d->heading(tr("Processor"));
    d->threads = d->row(tr("Threads"), new QSpinBox(page),
                        tr("Taking effect when the model is loaded next"));
    d->threads->setRange(0, std::max(1, QThread::idealThreadCount()));
    d->threads->setSpecialValueText(tr("Automatic"));
    d->threads->setKeyboardTracking(false);

    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    auto* restore = buttons->addButton(tr("Restore Defaults"), QDialogButtonBox::ResetRole);
    column->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
    connect(restore, &QPushButton::clicked, this, [this] {
        if (d->values == SettingsValues()) return;
        setValues({});
        emit valuesChanged(d->values);
    });

    const auto changed = [this] { d->change(); };
    for (QComboBox* box : {d->theme, d->strength, d->draft})
        connect(box, &QComboBox::activated, d, changed);
    connect(d->style, &QComboBox::activated, d, [this](int row) {
        if (row >= int(std::size(kStyles))) return;
        d->values.sampling = samplingOf(kStyles[row]);
        d->show();
        emit valuesChanged(d->values);
    });
    for (QSpinBox* box : {d->zoom, d->threads}) connect(box, &QSpinBox::valueChanged, d, changed);
    for (QCheckBox* box : {d->enterSends, d->searchThinking})
        connect(box, &QCheckBox::toggled, d, changed);
    for (const auto& number : d->numbers)
        connect(number.box, &QDoubleSpinBox::valueChanged, d, changed);
    d->show();
    resize(ems(34), ems(40));
}

void SettingsDialog::setValues(const SettingsValues& values) {
    d->values = values;
    d->show();
}

SettingsValues SettingsDialog::values() const {
    return d->values;
}

} // namespace ui
