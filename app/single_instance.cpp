#include "app/single_instance.h"

#include <QCryptographicHash>
#include <QDataStream>
#include <QDir>
#include <QLocalSocket>

namespace app {

namespace {

constexpr int kWaitMilliseconds = 2000;
constexpr qint64 kMaxMessageBytes = 1 << 20;
constexpr quint32 kMagic = 0x476c6e74;

// Local sockets share one space of names: the folder's hash keeps two folders apart.
QString nameFor(const QString& dataFolder) {
    const QByteArray path = QDir(dataFolder).canonicalPath().toUtf8();
    return QStringLiteral("glint-") +
           QString::fromLatin1(
               QCryptographicHash::hash(path, QCryptographicHash::Sha256).toHex().left(16));
}

} // namespace

SingleInstance::SingleInstance(const QString& dataFolder, QObject* parent)
    : QObject(parent), m_serverName(nameFor(dataFolder)),
      m_lock(dataFolder + QStringLiteral("/lock")) {
    // Never stale by age, only when its process is gone.
    m_lock.setStaleLockTime(0);
    m_server.setSocketOptions(QLocalServer::UserAccessOption);
    connect(&m_server, &QLocalServer::newConnection, this, &SingleInstance::read);
}

bool SingleInstance::claim() {
    if (!m_lock.tryLock(0)) return false;
    QLocalServer::removeServer(m_serverName); // of a program that was killed
    m_server.listen(m_serverName);
    return true;
}

bool SingleInstance::handOver(const QStringList& files) {
    QLocalSocket socket;
    socket.connectToServer(m_serverName);
    if (!socket.waitForConnected(kWaitMilliseconds)) return false;
    QByteArray message;
    QDataStream out(&message, QIODevice::WriteOnly);
    out << kMagic << files;
    socket.write(message);
    if (!socket.waitForBytesWritten(kWaitMilliseconds)) return false;
    // The first one closes the connection when it has read everything.
    socket.waitForDisconnected(kWaitMilliseconds);
    return true;
}

void SingleInstance::read() {
    while (QLocalSocket* const socket = m_server.nextPendingConnection()) {
        connect(socket, &QLocalSocket::disconnected, socket, &QObject::deleteLater);
        const auto take = [this, socket] {
            if (socket->bytesAvailable() > kMaxMessageBytes) {
                socket->abort();
                return;
            }
            QDataStream in(socket);
            in.startTransaction();
            quint32 magic = 0;
            QStringList files;
            in >> magic >> files;
            if (!in.commitTransaction()) return; // the rest is on its way
            socket->disconnectFromServer();
            if (magic == kMagic) emit startedAgain(files);
        };
        connect(socket, &QLocalSocket::readyRead, this, take);
        if (socket->bytesAvailable() > 0) take();
    }
}

} // namespace app
