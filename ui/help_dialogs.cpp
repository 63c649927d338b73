#include "ui/help_dialogs.h"

#include "ui/action_table.h"
#include "ui/controls.h"
#include "ui/theme.h"

#include <QAction>
#include <QApplication>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollBar>
#include <QTableWidget>
#include <QVBoxLayout>

namespace ui {

namespace {

QString say(const char* text) {
    return QCoreApplication::translate("ui::MainWindow", text);
}
#define SAY(text) say(QT_TRANSLATE_NOOP("ui::MainWindow", text))

QDialog* makeDialog(QWidget* parent, const QString& title) {
    auto* dialog = new QDialog(parent);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    new QVBoxLayout(dialog);
    return dialog;
}

void addClose(QDialog* dialog) {
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    dialog->layout()->addWidget(buttons);
}

} // namespace

void showShortcuts(QWidget* parent, const ActionSet& actions) {
    QDialog* dialog = makeDialog(parent, SAY("Keyboard Shortcuts"));
    QList<std::pair<QString, QString>> rows;
    for (const ActionRow& row : actionTable()) {
        const QAction* action = actions.action(row.id);
        if (!action->shortcut().isEmpty())
            rows.append({action->text().remove('&'),
                         action->shortcut().toString(QKeySequence::NativeText)});
    }
    rows.append({SAY("Send"), QKeySequence(Qt::Key_Return).toString(QKeySequence::NativeText)});
    rows.append(
        {SAY("New line in a message"),
         QKeySequence(Qt::ShiftModifier | Qt::Key_Return).toString(QKeySequence::NativeText)});
    rows.append({SAY("Go to the message field"),
                 QKeySequence(Qt::ControlModifier | Qt::Key_L).toString(QKeySequence::NativeText)});
    rows.append({SAY("Next area of the window"),
                 QKeySequence(Qt::Key_F6).toString(QKeySequence::NativeText)});
    rows.append({SAY("Move a chat to the Trash (in the list)"),
                 QKeySequence(Qt::Key_Delete).toString(QKeySequence::NativeText)});
    auto* table = new QTableWidget(int(rows.size()), 2, dialog);
    table->setAccessibleName(SAY("Keyboard Shortcuts"));
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setShowGrid(false);
    table->setFrameShape(QFrame::NoFrame);
    table->horizontalHeader()->hide();
    table->verticalHeader()->hide();
    table->verticalScrollBar()->setAccessibleName(SAY("Scroll the shortcuts"));
    table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    table->horizontalHeader()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    table->verticalHeader()->setDefaultSectionSize(std::max(28, table->fontMetrics().height() + 8));
    for (int i = 0; i < rows.size(); ++i) {
        table->setItem(i, 0, new QTableWidgetItem(rows[i].first));
        auto* keys = new QTableWidgetItem(rows[i].second);
        keys->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        table->setItem(i, 1, keys);
    }
    dialog->layout()->addWidget(table);
    addClose(dialog);
    dialog->resize(ems(32), ems(38));
    dialog->show();
}

void showAbout(QWidget* parent) {
    QDialog* dialog = makeDialog(parent, SAY("About Glint"));
    auto* row = new QHBoxLayout;
    row->setSpacing(16);
    auto* mark = new QLabel(dialog);
    mark->setPixmap(QIcon(":/icons/glint.svg").pixmap(64, 64));
    mark->setAccessibleName(SAY("The sign of Glint"));
    row->addWidget(mark, 0, Qt::AlignTop);
    auto* column = new QVBoxLayout;
    auto* name =
        label(QString("Glint %1").arg(QApplication::applicationVersion()).trimmed(), dialog);
    setFontRole(name, FontRole::Large);
    column->addWidget(name);
    auto* text = label(SAY("Chat offline, with text and pictures, on your own computer. No network "
                           "connection is opened; "
                           "your chats and files stay where they are."),
                       dialog);
    text->setWordWrap(true);
    column->addWidget(text);
    auto* license =
        label(SAY("Apache License 2.0. Built with Qt, md4c, SQLite, utf8proc and stb_image."),
              dialog, "muted");
    license->setWordWrap(true);
    setFontRole(license, FontRole::Caption);
    column->addWidget(license);
    column->addStretch(1);
    row->addLayout(column, 1);
    static_cast<QVBoxLayout*>(dialog->layout())->addLayout(row);
    addClose(dialog);
    dialog->resize(ems(30), dialog->sizeHint().height());
    dialog->show();
}

void askInstructions(QWidget* parent, const QString& text,
                     const std::function<void(const QString&)>& chosen) {
    QDialog* dialog = makeDialog(parent, SAY("Instructions for This Chat"));
    auto* note = label(SAY("The model reads this before the first message. When it changes, the "
                           "conversation is read again."),
                       dialog, "muted");
    note->setWordWrap(true);
    dialog->layout()->addWidget(note);
    auto* field = new QPlainTextEdit(text, dialog);
    field->setAccessibleName(SAY("Instructions"));
    field->setPlaceholderText(SAY("For example: Answer in short sentences."));
    field->setTabChangesFocus(true);
    field->verticalScrollBar()->setAccessibleName(SAY("Scroll the instructions"));
    dialog->layout()->addWidget(field);
    auto* buttons = new QDialogButtonBox(dialog);
    auto* use = buttons->addButton(SAY("Use Instructions"), QDialogButtonBox::AcceptRole);
    use->setProperty("kind", "primary");
    buttons->addButton(SAY("Cancel"), QDialogButtonBox::RejectRole);
    QObject::connect(buttons, &QDialogButtonBox::accepted, dialog, &QDialog::accept);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    QObject::connect(dialog, &QDialog::accepted, dialog,
                     [field, chosen] { chosen(field->toPlainText()); });
    dialog->layout()->addWidget(buttons);
    dialog->resize(ems(36), ems(22));
    dialog->open();
    field->setFocus();
}

} // namespace ui
