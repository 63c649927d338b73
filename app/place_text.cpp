#include "app/place_text.h"

#include <QCoreApplication>

namespace app {

namespace {

struct Text {
    Q_DECLARE_TR_FUNCTIONS(BackendChoice)
};

} // namespace

QString placeSentence(const ComputePlace& place) {
    if (!place.card) return Text::tr("Everything runs on your processor.");
    return Text::tr("Everything runs on your graphics card, %1.")
        .arg(QString::fromStdString(place.name));
}

QString tooLargeForCard(const QString& cardName) {
    return Text::tr("This does not fit into the memory of your graphics card, %1, so everything "
                    "runs on your processor, which is slower.")
        .arg(cardName);
}

ui::Notice placeNotice(const QString& whyNotCard) {
    ui::Notice notice;
    notice.id = QString::fromLatin1(kPlaceNotice);
    notice.kind = ui::NoticeKind::Warning;
    notice.text = Text::tr("Glint runs on your processor, which is slower, because your graphics "
                           "card could not be used: %1.")
                      .arg(whyNotCard);
    return notice;
}

} // namespace app
