#include "ui/composer.h"

#include "ui/composer_edit.h"
#include "ui/controls.h"
#include "ui/strength_menu.h"
#include "ui/theme.h"

#include <QAbstractTextDocumentLayout>
#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QImageReader>
#include <QLabel>
#include <QLocale>
#include <QMenu>
#include <QMimeData>
#include <QPainter>
#include <QPushButton>
#include <QTimer>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace ui {

namespace {

constexpr double kNearlyFull = 0.8;

} // namespace

QString Draft::fullText() const {
    QStringList parts;
    if (!text.trimmed().isEmpty()) parts += text;
    parts += pasted;
    return parts.join("\n\n");
}

class Composer::Private : public QObject {
    Q_DECLARE_TR_FUNCTIONS(ui::Composer)
public:
    explicit Private(Composer* composer) : QObject(composer), q(composer) {}

    Composer* q;
    AttachmentStrip* strip = nullptr;
    ComposerEdit* edit = nullptr;
    QWidget* editBar = nullptr;
    QWidget* queueBar = nullptr;
    ElidedLabel* queueText = nullptr;
    QLabel* full = nullptr;
    QToolButton* attach = nullptr;
    MenuButton* strength = nullptr;
    QMenu* strengths = nullptr;
    QLabel* price = nullptr;
    QPushButton* send = nullptr;
    QTimer draftTimer;

    bool answering = false;
    bool stopped = false; // the person pressed Stop: what is queued waits for them
    QString blocked;
    int tokens = -1;
    qint64 usedTokens = 0;
    qint64 totalTokens = 0;
    int maxHeight = 400;
    bool filling = false; // setDraft: nothing is emitted
    std::optional<Draft> queued;
    qint64 queuedEditOf = 0;
    Draft beforeEdit;

    bool nothingToSend() const {
        return q->draft().fullText().trimmed().isEmpty() && !hasAttachments();
    }
    bool hasAttachments() const {
        return std::any_of(
            strip->chips().begin(), strip->chips().end(), [](const AttachmentChip& chip) {
                return chip.text.isEmpty() && chip.state == AttachmentChip::State::Ready;
            });
    }
    bool checking() const {
        return std::any_of(strip->chips().begin(), strip->chips().end(),
                           [](const AttachmentChip& chip) {
                               return chip.state == AttachmentChip::State::Checking;
                           });
    }

    void refresh() {
        const bool stop = answering;
        send->setText(stop ? tr("Stop") : q->m_editing ? tr("Send Again") : tr("Send"));
        send->setIcon(ui::icon(stop ? "stop" : "send", &Colours::onAccent));
        send->setAccessibleName(send->text());
        const bool ready = blocked.isEmpty() && !nothingToSend() && !checking();
        // After Stop the keys go to the message again, not to whatever comes next.
        if (send->hasFocus() && !stop && !ready) edit->setFocus();
        send->setEnabled(stop || ready);
        send->setToolTip(stop                 ? tr("Stop the answer (Esc)")
                         : !blocked.isEmpty() ? blocked
                         : checking()         ? tr("An attachment is still being looked at")
                                              : tr("Send the message (Enter)"));
        price->setText(tokens > 0 ? priceText() : QString());
        fitRow();
        editBar->setVisible(q->m_editing != 0);
        queueBar->setVisible(queued.has_value());
        fit();
    }

    // A narrow composer keeps the controls whole: first Attach loses its word, then the price goes.
    void fitRow() {
        const int room = q->width() - 22;
        const auto wide = [](const QWidget* part) { return part->sizeHint().width() + 8; };
        attach->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
        int needed = wide(strength) + wide(send) + (tokens > 0 ? wide(price) : 0);
        if (needed + wide(attach) > room) attach->setToolButtonStyle(Qt::ToolButtonIconOnly);
        price->setVisible(tokens > 0 && needed + wide(attach) <= room);
    }

    void fit() {
        const int least = edit->fontMetrics().lineSpacing() + 10;
        const int most = std::max(least, maxHeight - 110);
        const int height = std::clamp(edit->wantedHeight(), least, most);
        if (edit->height() == height && edit->minimumHeight() == height) return;
        edit->setFixedHeight(height);
        edit->setVerticalScrollBarPolicy(edit->wantedHeight() > most ? Qt::ScrollBarAsNeeded
                                                                     : Qt::ScrollBarAlwaysOff);
        q->updateGeometry();
        emit q->sizeWished();
    }

    void changed() {
        refresh();
        if (!filling && !draftTimer.isActive()) draftTimer.start();
    }

    void trySend() {
        if (nothingToSend() || checking()) return;
        if (!blocked.isEmpty() && !answering) return;
        const Draft draft = q->draft();
        const qint64 editOf = q->m_editing;
        if (answering) {
            // One message waits at a time; a second one joins it.
            if (queued) {
                queued->text += "\n\n" + draft.text;
                queued->pasted += draft.pasted;
                queued->attachments.insert(queued->attachments.end(), draft.attachments.begin(),
                                           draft.attachments.end());
            } else {
                queued = draft;
                queuedEditOf = editOf;
            }
            showQueue();
            clear();
            return;
        }
        clear();
        emit q->sendWished(draft, editOf);
    }

    QString priceText() const {
        return tokens == 1 ? tr("about one token")
                           : tr("about %1 tokens").arg(QLocale().toString(tokens));
    }

    // Before sending: why it cannot be, a message for which there is no room, or else how full it
    // is from 80 %.
    void showRoom() {
        const QLocale locale;
        // While a message is edited, what follows it gives its room back.
        const qint64 room =
            q->m_editing ? totalTokens : std::max<qint64>(0, totalTokens - usedTokens);
        QString text;
        if (!blocked.isEmpty()) {
            text = blocked + u'.';
        } else if (totalTokens > 0 && room == 0) {
            text = tr("This conversation is full: %1 of %2 tokens. Start a new chat to go on.")
                       .arg(locale.toString(usedTokens), locale.toString(totalTokens));
        } else if (totalTokens > 0 && tokens > room) {
            text = tr("This message is too long: it takes %1, and this conversation has room for "
                      "%2.")
                       .arg(priceText(), locale.toString(room));
        } else if (totalTokens > 0 && double(usedTokens) >= kNearlyFull * double(totalTokens)) {
            text = tr("This conversation is %1 % full: %2 of %3 tokens.")
                       .arg(locale.toString(std::min<qint64>(100, usedTokens * 100 / totalTokens)),
                            locale.toString(usedTokens), locale.toString(totalTokens));
        }
        if (text == full->text() && full->isHidden() == text.isEmpty()) return;
        full->setText(text);
        full->setVisible(!text.isEmpty());
        emit q->sizeWished();
    }

    void showQueue() {
        // One line is shown; more than it can hold is not measured.
        queueText->setText(
            tr("Will be sent next: %1").arg(queued->fullText().left(500).simplified()));
    }

    void clear() {
        q->m_editing = 0;
        filling = true;
        strip->clear();
        edit->clear();
        filling = false;
        beforeEdit = {};
        tokens = -1;
        showRoom();
        changed();
    }

    void unqueue() {
        if (!queued) return;
        const Draft draft = *queued;
        queued.reset();
        q->giveBack(draft);
    }

    void showText(const QString& text) {
        auto* dialog = new QDialog(q->window());
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setWindowTitle(tr("Pasted Text"));
        dialog->resize(ems(46), ems(34));
        auto* column = new QVBoxLayout(dialog);
        auto* view = new QPlainTextEdit(dialog);
        if (!Composer::canBeTyped(text)) view->setLineWrapMode(QPlainTextEdit::NoWrap);
        view->setPlainText(text);
        view->setReadOnly(true);
        view->setAccessibleName(tr("Pasted text"));
        column->addWidget(view);
        auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
        connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
        column->addWidget(buttons);
        dialog->open();
    }
};

Composer::Composer(QWidget* parent) : QWidget(parent), d(new Private(this)) {
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    setAccessibleName(tr("Composer"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(12, 10, 10, 10);
    column->setSpacing(6);

    const auto bar = [this](const QString& closeName) {
        auto* widget = new QWidget(this);
        auto* row = new QHBoxLayout(widget);
        row->setContentsMargins(0, 0, 0, 0);
        auto* close = iconButton("close", closeName, widget);
        setIconPixels(close, 16);
        return std::tuple(widget, row, close);
    };
    auto [editBar, editRow, endEditing] = bar(tr("Stop editing"));
    d->editBar = editBar;
    auto* editing =
        label(tr("Editing your message. Sending makes a new version; the old one stays."), editBar,
              "muted");
    editing->setWordWrap(true);
    setFontRole(editing, FontRole::Caption);
    editRow->addWidget(editing, 1);
    editRow->addWidget(endEditing);
    connect(endEditing, &QToolButton::clicked, this, &Composer::endEdit);
    column->addWidget(editBar);

    auto [queueBar, queueRow, unqueue] = bar(tr("Take the waiting message back"));
    d->queueBar = queueBar;
    d->queueText = new ElidedLabel(queueBar);
    setFontRole(d->queueText, FontRole::Caption);
    d->queueText->setTint(&Colours::muted);
    queueRow->addWidget(d->queueText, 1);
    queueRow->addWidget(unqueue);
    connect(unqueue, &QToolButton::clicked, this, [this] {
        d->unqueue();
        d->changed();
    });
    column->addWidget(queueBar);

    d->strip = new AttachmentStrip(this);
    column->addWidget(d->strip);
    d->edit = new ComposerEdit(this);
    column->addWidget(d->edit);
    d->full = label({}, this, "warning");
    d->full->setWordWrap(true);
    setFontRole(d->full, FontRole::Caption);
    d->full->hide();
    column->addWidget(d->full);

    auto* row = new QHBoxLayout;
    row->setContentsMargins(-5, 0, 0, 0); // the icon, not its button, stands under the text
    row->setSpacing(8);
    d->attach = textButton(tr("Attach"), this, "attach");
    d->attach->setToolTip(tr("Attach a picture (Ctrl+O)"));
    row->addWidget(d->attach);
    d->strength = new MenuButton(this, true);
    d->strength->setToolTip(tr("How long the model thinks before it answers"));
    d->strengths =
        strengthMenu(d->strength, [this](engine::ThinkingStrength s) { emit strengthChosen(s); });
    d->strength->setMenu(d->strengths);
    row->addWidget(d->strength);
    row->addStretch(1);
    d->price = label({}, this, "muted");
    d->price->setToolTip(tr("What this message will take of the conversation"));
    row->addWidget(d->price);
    d->send = new QPushButton(this);
    d->send->setProperty("kind", "primary");
    setIconPixels(d->send, 16);
    row->addWidget(d->send);
    column->addLayout(row);

    setFocusProxy(d->edit);
    setTabOrder(d->edit, d->attach);
    setTabOrder(d->attach, d->strength);
    setTabOrder(d->strength, d->send);
    d->draftTimer.setSingleShot(true);
    d->draftTimer.setInterval(250);
    connect(&d->draftTimer, &QTimer::timeout, this, &Composer::draftChanged);
    connect(d->edit, &QPlainTextEdit::textChanged, d, [this] { d->changed(); });
    connect(d->edit->document()->documentLayout(),
            &QAbstractTextDocumentLayout::documentSizeChanged, d, [this] { d->fit(); });
    connect(d->strip, &AttachmentStrip::changed, d, [this] { d->changed(); });
    connect(d->strip, &AttachmentStrip::turnBackWished, this, &Composer::insertText);
    connect(d->strip, &AttachmentStrip::showWished, d,
            [this](const QString& text) { d->showText(text); });
    connect(d->edit, &ComposerEdit::sendWished, d, [this] { d->trySend(); });
    connect(d->edit, &ComposerEdit::dataWished, this, &Composer::take);
    connect(d->edit, &ComposerEdit::longPaste, d, [this](const QString& text) {
        AttachmentChip chip;
        chip.name = tr("Pasted text");
        chip.text = text;
        chip.state = AttachmentChip::State::Ready;
        d->strip->add(chip);
    });
    connect(d->attach, &QToolButton::clicked, this, &Composer::openFileDialog);
    connect(d->send, &QPushButton::clicked, d, [this] {
        if (d->answering) {
            d->stopped = true;
            emit stopWished();
        } else {
            d->trySend();
        }
    });
    setStrength(engine::ThinkingStrength::High);
    d->refresh();
}

Draft Composer::draft() const {
    Draft draft;
    draft.text = d->edit->toPlainText();
    for (const AttachmentChip& chip : d->strip->chips()) {
        if (!chip.text.isEmpty())
            draft.pasted += chip.text;
        else if (chip.state == AttachmentChip::State::Ready)
            draft.attachments.push_back(chip.attachment);
    }
    return draft;
}

// A text field lays out every paragraph at once, and the time for a word without a break grows with
// the square of its length.
bool Composer::canBeTyped(const QString& text) {
    if (text.size() > kLongestText) return false;
    qsizetype word = 0;
    for (const QChar c : text) {
        word = c.isSpace() ? 0 : word + 1;
        if (word > kLongestWord) return false;
    }
    return true;
}

void Composer::setDraft(const Draft& draft) {
    d->filling = true;
    m_editing = 0;
    d->queued.reset();
    d->beforeEdit = {};
    d->strip->clear();
    QStringList pasted = draft.pasted;
    const bool typed = canBeTyped(draft.text);
    if (!typed) pasted.prepend(draft.text);
    for (const QString& text : pasted) {
        AttachmentChip chip;
        chip.state = AttachmentChip::State::Ready;
        chip.name = tr("Pasted text");
        chip.text = text;
        d->strip->add(chip);
    }
    for (const engine::Attachment& file : draft.attachments) {
        AttachmentChip chip;
        chip.state = AttachmentChip::State::Ready;
        chip.name = QString::fromStdString(file.fileName);
        chip.attachment = file;
        d->strip->add(chip);
    }
    d->edit->setPlainText(typed ? draft.text : QString());
    d->edit->moveCursor(QTextCursor::End);
    d->filling = false;
    d->draftTimer.stop();
    d->refresh();
    emit draftSet();
}

int Composer::chipOf(const QString& sha256) const {
    for (const AttachmentChip& chip : d->strip->chips())
        if (QString::fromStdString(chip.attachment.sha256) == sha256 && chip.text.isEmpty())
            return chip.id;
    return -1;
}

std::optional<Draft> Composer::queued() const {
    return d->queued;
}

void Composer::setQueued(const std::optional<Draft>& draft) {
    d->queued = draft;
    d->queuedEditOf = 0;
    if (draft) d->showQueue();
    d->refresh();
}

void Composer::setAnswering(bool answering) {
    if (d->answering == answering) return;
    d->answering = answering;
    if (answering) {
        d->stopped = false;
    } else if (d->queued && d->stopped) {
        d->unqueue();
    } else if (d->queued) {
        const Draft draft = *d->queued;
        d->queued.reset();
        d->refresh();
        emit sendWished(draft, d->queuedEditOf);
    }
    d->refresh();
}

void Composer::setSendBlocked(const QString& reason) {
    d->blocked = reason;
    d->refresh();
    d->showRoom();
}

void Composer::setTokenPrice(int tokens) {
    d->tokens = tokens;
    d->refresh();
    d->showRoom();
}

void Composer::setStrength(engine::ThinkingStrength strength) {
    d->strength->setText(tr("Think: %1").arg(strengthText(strength)));
    d->strength->setAccessibleName(d->strength->text());
    checkStrength(d->strengths, strength);
    d->strength->updateGeometry();
    d->strength->update();
}

void Composer::setContextUse(qint64 usedTokens, qint64 totalTokens) {
    if (usedTokens == d->usedTokens && totalTokens == d->totalTokens) return;
    d->usedTokens = usedTokens;
    d->totalTokens = totalTokens;
    d->showRoom();
}

void Composer::setEnterSends(bool sends) {
    d->edit->setEnterSends(sends);
}
void Composer::setChip(const AttachmentChip& chip) {
    d->strip->update(chip);
}

void Composer::beginEdit(qint64 messageId, const Draft& content) {
    const Draft before = m_editing ? d->beforeEdit : draft();
    setDraft(content);
    d->beforeEdit = before;
    m_editing = messageId;
    d->refresh();
    focusText();
    d->edit->selectAll();
    d->edit->moveCursor(QTextCursor::End);
}

void Composer::endEdit() {
    if (!m_editing) return;
    const Draft before = d->beforeEdit;
    setDraft(before);
    d->changed();
}

void Composer::send() {
    d->trySend();
}

void Composer::giveBack(const Draft& draft) {
    Draft both = draft;
    // Its size is not that of typed text: it comes back as the chip that it was pasted as.
    if (both.text.size() > kLongPaste) both.pasted.prepend(std::exchange(both.text, QString()));
    const Draft since = this->draft();
    if (!since.text.isEmpty()) both.text += (both.text.isEmpty() ? "" : "\n\n") + since.text;
    both.pasted += since.pasted;
    both.attachments.insert(both.attachments.end(), since.attachments.begin(),
                            since.attachments.end());
    setDraft(both);
    d->changed();
}

void Composer::focusText() {
    d->edit->setFocus(Qt::OtherFocusReason);
}

void Composer::insertText(const QString& text) {
    d->edit->insertPlainText(text);
    d->edit->ensureCursorVisible();
}

void Composer::paste() {
    d->edit->paste();
}

void Composer::openFileDialog() {
    QStringList patterns;
    const QList<QByteArray> formats = QImageReader::supportedImageFormats();
    for (const QByteArray& format : formats) patterns += "*." + QString::fromLatin1(format);
    auto* dialog = new QFileDialog(window(), tr("Attach Pictures"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setFileMode(QFileDialog::ExistingFiles);
    dialog->setNameFilters({tr("Pictures (%1)").arg(patterns.join(' ')), tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, [this](const QStringList& paths) {
        for (const QString& path : paths) attachPath(path);
    });
    dialog->open();
}

void Composer::attachPath(const QString& path) {
    AttachmentChip chip;
    chip.name = QFileInfo(path).fileName();
    const int id = d->strip->add(chip);
    emit attachFileWished(id, path);
}

bool Composer::accepts(const QMimeData* data) {
    if (data->hasImage()) return true;
    const QList<QUrl> urls = data->urls();
    return std::any_of(urls.begin(), urls.end(), [](const QUrl& url) { return url.isLocalFile(); });
}

void Composer::take(const QMimeData* given) {
    bool files = false;
    const QList<QUrl> urls = given->urls();
    for (const QUrl& url : urls) {
        if (!url.isLocalFile()) continue;
        files = true;
        attachPath(url.toLocalFile());
    }
    if (files || !given->hasImage()) return;
    const QImage image = qvariant_cast<QImage>(given->imageData());
    if (image.isNull()) return;
    AttachmentChip chip;
    chip.name = tr("Pasted picture");
    chip.thumbnail = image.scaled(96, 96, Qt::KeepAspectRatioByExpanding, Qt::FastTransformation);
    const int id = d->strip->add(chip);
    emit attachImageWished(id, image, chip.name);
}

void Composer::setMaxHeight(int pixels) {
    d->maxHeight = pixels;
    d->fit();
}

void Composer::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (d->send && (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)) {
        d->fit();
        d->fitRow();
    }
}

void Composer::resizeEvent(QResizeEvent*) {
    d->fitRow();
}

void Composer::paintEvent(QPaintEvent*) {
    const Colours& c = colours();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(c.dark ? c.raised : c.window);
    painter.setPen(d->edit->hasFocus() ? c.accent : c.line);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 14, 14);
}

} // namespace ui
