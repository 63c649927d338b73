#pragma once
// One program per data folder: a second start hands its arguments to the first and ends. The lock
// is a file that names its process, so that one left behind by a killed program is cleared.
//
// GUI thread.

#include <QLocalServer>
#include <QLockFile>
#include <QObject>
#include <QString>
#include <QStringList>

namespace app {

class SingleInstance : public QObject {
    Q_OBJECT
public:
    explicit SingleInstance(const QString& dataFolder, QObject* parent = nullptr);

    // True: this is the first, and listens from now on. False: another one runs.
    bool claim();
    // To the first one; false if it did not take the message within two seconds.
    bool handOver(const QStringList& files);

signals:
    void startedAgain(const QStringList& files);

private:
    void read();

    QString m_serverName;
    QLockFile m_lock;
    QLocalServer m_server;
};

} // namespace app
