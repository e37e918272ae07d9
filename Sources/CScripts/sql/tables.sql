create schema if not exists {schema};

-- ---------------------------------------------------------------------------------------
-- Tables. They belong to the owner alone; everybody else goes through functions. To make an
-- index, even one that is there, locks its table against writers: so it is asked first.

-- One row: the version of this schema, and the name by which this installation notifies.
create table if not exists {schema}.installation (
  only_row boolean primary key default true check (only_row),
  version integer not null,
  id text collate "C" not null
    default translate(gen_random_uuid()::text, '-', ''),
  installed_at timestamptz not null default clock_timestamp()
);

do $version$
begin
  if exists (select from {schema}.installation where version > {version}) then
    raise exception 'this schema is at a later version than {version}'
      using hint = 'use the gapless that installed it, or a later one';
  end if;
end
$version$;

-- What bounds the values: limits.* of the gateways, and how long what is kept.
create table if not exists {schema}.settings (
  name text collate "C" primary key,
  value bigint not null
);

-- A log, and slot 0 of it: title, metadata and fields that the gateway does not know. Its
-- row is what a write locks, until its transaction ends.
create table if not exists {schema}.conversations (
  id text collate "C" primary key,
  epoch text collate "C" not null,
  seq bigint not null default 0,         -- the newest message
  rev bigint not null default 0,         -- the newest change
  mark text collate "C" not null default '',  -- of that change
  floor bigint not null default 1,       -- the oldest message that is kept
  base bigint not null default 0,        -- the last change whose mark is no longer kept
  record_rev bigint not null default 0,  -- the newest change of slot 0
  last_seq bigint not null default 0,    -- the newest message that is not deleted, or 0
  activity timestamptz not null,         -- no message after it is older
  title text,
  metadata json not null default '{}',
  unknown json not null default '{}',    -- fields that the gateway does not know
  created_at timestamptz not null,
  updated_at timestamptz not null,
  created_by text collate "C",           -- the client that created it
  people bytea,                          -- of a distinct one: stands for who takes part
  participants bigint not null default 0,
  admins bigint not null default 0,
  joins bigint not null default 0        -- how many have joined so far
) with (fillfactor = 70);
do $index$ begin
  if to_regclass(format('%I.conversations_by_creator', {schema_text})) is null then
    create index if not exists conversations_by_creator
      on {schema}.conversations (created_by)
      where (created_by is not null);
  end if;
end $index$;

-- The newest value of each message. What a client sent is kept as the text that it sent.
create table if not exists {schema}.messages (
  conversation text collate "C" not null,
  seq bigint not null,
  rev bigint not null,
  id text collate "C" not null,
  author text collate "C" not null,
  content json,                          -- body, attachment, metadata, unknown
  created_at timestamptz not null,
  edited_at timestamptz,
  deleted boolean not null default false,
  first_rev bigint not null,             -- the change that inserted it
  hash bytea not null,                   -- of what was first sent
  reactions json,                        -- what it shows of them; NULL: nobody ever reacted
  content_rev bigint,                    -- the last change that was no reaction
  primary key (conversation, seq)
);
-- Of an earlier version.
do $columns$ begin
  if not exists (
    select from pg_attribute
    where attrelid = to_regclass(format('%I.messages', {schema_text}))
      and attname = 'content_rev' and not attisdropped)
  then
    alter table {schema}.messages
      add column if not exists reactions json, add column if not exists content_rev bigint;
  end if;
end $columns$;
do $index$ begin
  if to_regclass(format('%I.messages_by_id', {schema_text})) is null then
    create unique index if not exists messages_by_id
      on {schema}.messages (conversation, id);
  end if;
end $index$;
do $index$ begin
  if to_regclass(format('%I.messages_by_rev', {schema_text})) is null then
    create unique index if not exists messages_by_rev
      on {schema}.messages (conversation, rev);
  end if;
end $index$;
do $index$ begin
  if to_regclass(format('%I.messages_deleted', {schema_text})) is null then
    create index if not exists messages_deleted
      on {schema}.messages (conversation, seq)
      where deleted;
  end if;
end $index$;

-- One row for each change, with a random mark: who took values from a log can ask whether
-- it is still that log. Slot 0 is the record.
create table if not exists {schema}.changes (
  conversation text collate "C" not null,
  rev bigint not null,
  mark text collate "C" not null,
  slot bigint not null,
  at timestamptz not null,
  joined text[] collate "C",             -- with a change of the record: who came in
  gone text[] collate "C",               -- and who is out, or came in anew
  primary key (conversation, rev)
);

create table if not exists {schema}.members (
  conversation text collate "C" not null,
  user_id text collate "C" not null,
  place bigint not null,                 -- in the order in which they joined
  is_admin boolean not null default false,
  name text,
  metadata json,
  unknown json not null default '{}',
  created_at timestamptz not null,
  updated_at timestamptz not null,
  joined_seq bigint not null default 0,  -- the newest message when they joined
  primary key (conversation, user_id)
);
-- Of an earlier version.
do $columns$ begin
  if not exists (
    select from pg_attribute
    where attrelid = to_regclass(format('%I.members', {schema_text}))
      and attname = 'joined_seq' and not attisdropped)
  then
    alter table {schema}.members
      add column if not exists joined_seq bigint not null default 0;
  end if;
end $columns$;
do $index$ begin
  if to_regclass(format('%I.members_by_place', {schema_text})) is null then
    create unique index if not exists members_by_place
      on {schema}.members (conversation, place);
  end if;
end $index$;
do $index$ begin
  if to_regclass(format('%I.members_by_user', {schema_text})) is null then
    create index if not exists members_by_user
      on {schema}.members (user_id, conversation);
  end if;
end $index$;
do $index$ begin
  if to_regclass(format('%I.members_ruling', {schema_text})) is null then
    create index if not exists members_ruling
      on {schema}.members (conversation, place)
      where is_admin;
  end if;
end $index$;

-- How far somebody has read, also who left or never took part; and the newest message of
-- each author, who has read that far too. Two tables, so that who reads never waits for a
-- transaction that writes.
create table if not exists {schema}.reads (
  conversation text collate "C" not null,
  user_id text collate "C" not null,
  seq bigint not null,
  primary key (conversation, user_id)
) with (fillfactor = 80);
create table if not exists {schema}.authors (
  conversation text collate "C" not null,
  user_id text collate "C" not null,
  seq bigint not null,
  primary key (conversation, user_id)
) with (fillfactor = 80);

-- Who reacts to messages that are not deleted, with the change that began it.
create table if not exists {schema}.reactions (
  conversation text collate "C" not null,
  seq bigint not null,
  user_id text collate "C" not null,
  key text collate "C" not null,
  rev bigint not null,
  at timestamptz not null,
  primary key (conversation, seq, user_id, key)
);
do $index$ begin
  if to_regclass(format('%I.reactions_by_key', {schema_text})) is null then
    create index if not exists reactions_by_key
      on {schema}.reactions (conversation, seq, key, rev);
  end if;
end $index$;
do $index$ begin
  if to_regclass(format('%I.reactions_by_rev', {schema_text})) is null then
    create unique index if not exists reactions_by_rev
      on {schema}.reactions (conversation, seq, rev);
  end if;
end $index$;

-- Whom messages that are not deleted mention: a row for each user but the author, or one without
-- a user (empty) for a message that mentions everybody.
create table if not exists {schema}.mentions (
  conversation text collate "C" not null,
  user_id text collate "C" not null,
  seq bigint not null,
  author text collate "C" not null,
  primary key (conversation, user_id, seq)
);
do $index$ begin
  if to_regclass(format('%I.mentions_by_seq', {schema_text})) is null then
    create index if not exists mentions_by_seq
      on {schema}.mentions (conversation, seq);
  end if;
end $index$;

-- Ids of messages that were trimmed: one that is sent again is no second message.
create table if not exists {schema}.trimmed (
  conversation text collate "C" not null,
  id text collate "C" not null,
  seq bigint not null,
  first_rev bigint not null,
  author text collate "C" not null,
  hash bytea not null,
  created_at timestamptz not null,
  primary key (conversation, id)
);
do $index$ begin
  if to_regclass(format('%I.trimmed_by_seq', {schema_text})) is null then
    create index if not exists trimmed_by_seq
      on {schema}.trimmed (conversation, seq);
  end if;
end $index$;

-- The distinct conversation of some people.
create table if not exists {schema}.distincts (
  people bytea primary key,
  conversation text collate "C" not null
);

-- Who came into which list, or left it. Rows of a user are in no order of numbers, since
-- nobody waits here for anybody: what a token has not seen goes by transaction.
create table if not exists {schema}.list_changes (
  id bigint generated always as identity primary key,
  user_id text collate "C" not null,
  conversation text collate "C" not null,
  is_in boolean not null,
  mark text collate "C" not null,
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp()
);
do $index$ begin
  if to_regclass(format('%I.list_changes_by_user', {schema_text})) is null then
    create index if not exists list_changes_by_user
      on {schema}.list_changes (user_id, id);
  end if;
end $index$;
do $index$ begin
  if to_regclass(format('%I.list_changes_by_age', {schema_text})) is null then
    create index if not exists list_changes_by_age
      on {schema}.list_changes (at);
  end if;
end $index$;

-- How users are there by each gateway, since when, when the era began in which that was said,
-- and if it ended when, and until when it counts; the number of each gateway's latest call, and
-- when and in which era it renewed its lease; and since when the server is this one, and until
-- when users may not have been said. All moments are milliseconds of its clock.
create table if not exists {schema}.presence (
  user_id text collate "C" not null,
  gateway text collate "C" not null,
  away boolean not null,
  since bigint not null,
  said bigint not null,
  era bigint not null,
  ended bigint,
  lasts bigint,
  primary key (user_id, gateway)
);
do $index$ begin
  if to_regclass(format('%I.presence_by_age', {schema_text})) is null then
    create index if not exists presence_by_age
      on {schema}.presence (said);
  end if;
end $index$;
create table if not exists {schema}.presence_leases (
  gateway text collate "C" primary key,
  number bigint not null,
  renewed bigint,
  era bigint
);
do $index$ begin
  if to_regclass(format('%I.presence_leases_by_age', {schema_text})) is null then
    create index if not exists presence_leases_by_age
      on {schema}.presence_leases (renewed);
  end if;
end $index$;
create table if not exists {schema}.presence_era (
  only_row boolean primary key default true check (only_row),
  process text collate "C" not null,
  began bigint not null,
  young bigint not null
);

-- Whom all gateways are to disconnect, for an hour.
create table if not exists {schema}.disconnects (
  id bigint generated always as identity primary key,
  user_id text collate "C" not null,
  may_return boolean not null,
  told_by text collate "C" not null,
  xid xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp()
);
