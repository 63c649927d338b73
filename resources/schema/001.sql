-- Version 1 of the history. Ids are times in microseconds since 1970, made unique by the program: they are
-- known before a row is written, so a message keeps its id whether or not it could be stored at once.

CREATE TABLE conversation (
    id            INTEGER PRIMARY KEY,
    title         TEXT    NOT NULL DEFAULT '',
    title_chosen  INTEGER NOT NULL DEFAULT 0,  -- 1: by the person; 0: the first words of the first message
    instructions  TEXT    NOT NULL DEFAULT '',
    strength      TEXT    NOT NULL,            -- low, medium, high, xhigh
    draft_length  INTEGER NOT NULL,            -- 0..15; -1 automatic
    active_leaf   INTEGER NOT NULL DEFAULT 0,  -- 0: no message
    pinned        INTEGER NOT NULL DEFAULT 0,
    archived      INTEGER NOT NULL DEFAULT 0,
    unread        INTEGER NOT NULL DEFAULT 0,
    changed_ms    INTEGER NOT NULL,
    deleted_ms    INTEGER NOT NULL DEFAULT 0,  -- 0: not in the trash
    draft_text    TEXT    NOT NULL DEFAULT ''  -- what the person has typed and not sent
);

CREATE TABLE message (
    id              INTEGER PRIMARY KEY,
    conversation_id INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
    parent_id       INTEGER NOT NULL,          -- 0: a first message; versions share a parent
    role            TEXT    NOT NULL CHECK (role IN ('user', 'assistant')),
    text            TEXT    NOT NULL,
    thinking        TEXT    NOT NULL DEFAULT '',
    file_names      TEXT    NOT NULL DEFAULT '', -- of the attachments, a line each: what search reads
    state           TEXT    NOT NULL,
    created_ms      INTEGER NOT NULL,
    thinking_seconds REAL   NOT NULL DEFAULT 0,
    read_seconds    REAL    NOT NULL DEFAULT 0,
    write_seconds   REAL    NOT NULL DEFAULT 0,
    prompt_tokens   INTEGER NOT NULL DEFAULT 0,
    read_tokens     INTEGER NOT NULL DEFAULT 0,
    written_tokens  INTEGER NOT NULL DEFAULT 0,
    drafted_tokens  INTEGER NOT NULL DEFAULT 0,
    accepted_tokens INTEGER NOT NULL DEFAULT 0,
    cycles          INTEGER NOT NULL DEFAULT 0,
    model_key       TEXT    NOT NULL DEFAULT '',
    generated_ids   BLOB    NOT NULL DEFAULT x'' -- little-endian 32-bit token ids, valid for model_key
);
CREATE INDEX message_by_conversation ON message (conversation_id);
CREATE INDEX message_growing ON message (state) WHERE state = 'growing';

-- The bytes of pictures lie here and not in files beside the database: a message and its pictures are
-- written in one transaction, one file holds everything, and the integrity check covers it.
CREATE TABLE blob (
    sha256 TEXT PRIMARY KEY,
    bytes  BLOB NOT NULL
);

CREATE TABLE message_attachment (
    message_id INTEGER NOT NULL REFERENCES message(id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    sha256     TEXT    NOT NULL REFERENCES blob(sha256),
    file_name  TEXT    NOT NULL,
    mime_type  TEXT    NOT NULL,
    bytes      INTEGER NOT NULL,
    width      INTEGER NOT NULL,
    height     INTEGER NOT NULL,
    PRIMARY KEY (message_id, position)
);
CREATE INDEX message_attachment_blob ON message_attachment (sha256);

CREATE TABLE draft_attachment (
    conversation_id INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    sha256     TEXT    NOT NULL REFERENCES blob(sha256),
    file_name  TEXT    NOT NULL,
    mime_type  TEXT    NOT NULL,
    bytes      INTEGER NOT NULL,
    width      INTEGER NOT NULL,
    height     INTEGER NOT NULL,
    PRIMARY KEY (conversation_id, position)
);
CREATE INDEX draft_attachment_blob ON draft_attachment (sha256);

CREATE TABLE draft_paste ( -- long pastes that the composer shows as chips
    conversation_id INTEGER NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
    position        INTEGER NOT NULL,
    text            TEXT    NOT NULL,
    PRIMARY KEY (conversation_id, position)
);

-- Search. The index tables hold no second copy of the text. A growing answer is indexed when it ends, so
-- that saving it every second stays cheap.
CREATE VIRTUAL TABLE title_search USING fts5(
    title, content='conversation', content_rowid='id', tokenize="unicode61 remove_diacritics 2", prefix='2 3');
CREATE VIRTUAL TABLE message_search USING fts5(
    text, thinking, file_names, content='message', content_rowid='id',
    tokenize="unicode61 remove_diacritics 2", prefix='2 3');

CREATE TRIGGER conversation_added AFTER INSERT ON conversation BEGIN
    INSERT INTO title_search (rowid, title) VALUES (new.id, new.title);
END;
CREATE TRIGGER conversation_renamed AFTER UPDATE OF title ON conversation WHEN old.title <> new.title BEGIN
    INSERT INTO title_search (title_search, rowid, title) VALUES ('delete', old.id, old.title);
    INSERT INTO title_search (rowid, title) VALUES (new.id, new.title);
END;
CREATE TRIGGER conversation_removed AFTER DELETE ON conversation BEGIN
    INSERT INTO title_search (title_search, rowid, title) VALUES ('delete', old.id, old.title);
END;

CREATE TRIGGER message_added AFTER INSERT ON message WHEN new.state <> 'growing' BEGIN
    INSERT INTO message_search (rowid, text, thinking, file_names)
        VALUES (new.id, new.text, new.thinking, new.file_names);
END;
-- One trigger for both halves: the order of two triggers on one event is not defined.
CREATE TRIGGER message_changed AFTER UPDATE OF text, thinking, file_names, state ON message BEGIN
    INSERT INTO message_search (message_search, rowid, text, thinking, file_names)
        SELECT 'delete', old.id, old.text, old.thinking, old.file_names WHERE old.state <> 'growing';
    INSERT INTO message_search (rowid, text, thinking, file_names)
        SELECT new.id, new.text, new.thinking, new.file_names WHERE new.state <> 'growing';
END;
CREATE TRIGGER message_removed AFTER DELETE ON message WHEN old.state <> 'growing' BEGIN
    INSERT INTO message_search (message_search, rowid, text, thinking, file_names)
        VALUES ('delete', old.id, old.text, old.thinking, old.file_names);
END;
