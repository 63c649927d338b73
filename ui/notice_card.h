#pragma once
// Shows a Notice in place: as a bar above the transcript or a card in it. Never a message box.

#include "ui/notice.h"

#include <QFrame>

namespace ui {

class NoticeCard : public QFrame {
    Q_OBJECT
public:
    explicit NoticeCard(QWidget* parent = nullptr);
    void setNotice(const Notice& notice);
    const Notice& notice() const { return m_notice; }

signals:
    void remedyWished(const QString& remedyId);
    void closed();
    void resized(); // details were opened or closed

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void rebuild();
    Notice m_notice;
    bool m_detailsOpen = false;
};

} // namespace ui
