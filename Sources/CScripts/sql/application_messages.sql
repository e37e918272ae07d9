-- Sends a message: id, body, attachment, metadata, replyTo, mentions, mentionAll and fields that
-- the gateway does not know. The same author, id and content again is answered with that message
-- as it is now. The author need not take part.
create or replace function {schema}.post_message(
  conversation text, author text, message jsonb)
  returns jsonb language plpgsql {volatile} as $$
declare
  wanted text collate "C" := conversation;
  sender text collate "C" := author;
  c conversations;
  given boolean;
  content json;
  answer json;
  sent json;
begin
  perform check_id('conversation', wanted);
  perform check_id('author', sender);
  perform check_object('message', message);
  given := coalesce(jsonb_typeof(message -> 'id'), 'null') <> 'null';
  if given and jsonb_typeof(message -> 'id') <> 'string' then
    perform refuse('PG400', format(
      'id: %s (accepted: 1-255 bytes of UTF-8 without control characters)',
      phrase(message -> 'id')), null);
  elsif given then
    perform check_id('id', message ->> 'id');
  end if;
  content := content_of(message);
  perform hold('limits.message', size_of_content(content), 0,
    'message: %s bytes of content');
  perform hold('limits.unknown_fields', count_of_unknown(content -> 'unknown'), 0,
    'unknown fields: %s of them');
  if content ->> 'replyTo' is not null or content ->> 'mentions' is not null
    or content ->> 'mentionAll' is not null
  then
    perform check_enabled();
  end if;
  perform hold('limits.mentions', json_array_length(coalesce(content -> 'mentions', '[]')), 0,
    'mentions: %s users');
  c := lock_existing(wanted);
  answer := append_messages(c, json_build_array(json_build_object(
      'id', coalesce(message ->> 'id', gen_random_uuid()::text), 'given', given,
      'author', sender, 'content', content)), setting('retain_ids'));
  if answer ->> 'word' = 'taken' then
    perform refuse('PG409', 'id: taken by another message', null);
  end if;
  sent := answer -> 'sent' -> 0;
  if coalesce((sent ->> 'trimmed')::boolean, false) then
    return (
      select jsonb_build_object(
        'id', t.id, 'conversation', t.conversation, 'seq', t.seq, 'rev', t.first_rev,
        'author', t.author, 'createdAt', moment(t.created_at), 'trimmed', true)
      from trimmed t where t.conversation = c.id and t.id = sent ->> 'id');
  end if;
  return (
    select message_object(m) from messages m
    where m.conversation = c.id and m.seq = (sent ->> 'seq')::bigint);
end
$$;

-- A message that is kept, of a locked conversation.
create or replace function {schema}.existing_message(c {schema}.conversations, p_id text)
  returns {schema}.messages language plpgsql {stable} as $$
declare
  m messages;
begin
  perform check_id('id', p_id);
  select * into m from messages
    where conversation = c.id and id = p_id and seq >= c.floor;
  if not found then perform refuse('PG404', 'id: no such message', null); end if;
  return m;
end
$$;

-- Changes body, metadata, mentions, mentionAll and fields that the gateway does not know. An
-- absent key stays, a JSON null takes the value away.
create or replace function {schema}.edit_message(
  conversation text, id text, changes jsonb)
  returns jsonb language plpgsql {volatile} as $$
declare
  wanted text collate "C" := conversation;
  wanted_id text collate "C" := id;
  c conversations;
  m messages;
  if_rev bigint;
  unknown json;
  mentions text[];
  is_to_all boolean;
  present json;
  merged_content json;
begin
  perform check_id('conversation', wanted);
  perform check_id('id', wanted_id);
  perform check_object('changes', changes);
  perform check_text(changes, 'body');
  perform check_nested(changes, 'metadata', false);
  if_rev := integer_of(changes, 'ifRev', 0, 9007199254740991);
  unknown := unknown_of(changes, known_in_message());
  mentions := mentions_of(changes);
  is_to_all := flag_of(changes, 'mentionAll');
  if mentions is not null or is_to_all is not null then perform check_enabled(); end if;
  c := lock_existing(wanted);
  m := existing_message(c, wanted_id);
  if m.deleted then
    perform refuse('PG409', 'id: the message is deleted', case when if_rev is not null
      then jsonb_build_object(
        'message', jsonb_build_object('seq', m.seq, 'rev', m.rev)) end);
  end if;
  if mentions is not null then
    perform hold('limits.mentions', cardinality(mentions),
      json_array_length(coalesce(m.content -> 'mentions', '[]')), 'mentions: %s users');
    select json_agg(value order by n) into present
      from unnest(mentions) with ordinality as u(value, n)
      where exists (
        select from members p where p.conversation = c.id and p.user_id = u.value);
  else
    present := m.content -> 'mentions';
  end if;
  -- Null takes out what an earlier version stored under these names.
  unknown := merged(merged(m.content -> 'unknown', (
    select json_object_agg(name, null) from unnest(array[
      case when mentions is not null then 'mentions' end,
      case when is_to_all is not null then 'mentionAll' end]) as u(name)
    where name is not null)), unknown);
  -- Text for text, so that what somebody else sent stays as it was.
  select coalesce(json_object_agg(key, value), '{}') into merged_content from (
    select 'body' as key, case when changes ? 'body'
        then nullif((changes -> 'body')::text, 'null')::json
        else m.content -> 'body' end as value
    union all select 'attachment', m.content -> 'attachment'
    union all select 'metadata',
      coalesce((changes -> 'metadata')::json, m.content -> 'metadata')
    union all select 'replyTo', m.content -> 'replyTo'
    union all select 'mentions', present
    union all select 'mentionAll', case when is_to_all then 'true'
        when is_to_all is null then m.content -> 'mentionAll' end
    union all select 'unknown', nullif(unknown::text, '{}')::json
  ) as fields where value is not null;
  if content_hash(merged_content) = content_hash(m.content) then
    return message_object(m);
  end if;
  if if_rev is not null and not if_rev between coalesce(m.content_rev, m.rev) and m.rev then
    perform refuse('PG409', format(
        'ifRev: %s, but the message has rev %s', if_rev, m.rev),
      jsonb_build_object('message', jsonb_build_object('seq', m.seq, 'rev', m.rev)));
  end if;
  perform hold('limits.message', size_of_content(merged_content),
    size_of_content(m.content), 'message: would be %s bytes of content');
  perform hold('limits.unknown_fields', count_of_unknown(unknown),
    count_of_unknown(m.content -> 'unknown'), 'unknown fields: %s of them');
  return message_object(replace_message(c, m, merged_content));
end
$$;

-- Leaves a tombstone; that of a message that is deleted already.
create or replace function {schema}.delete_message(conversation text, id text)
  returns jsonb language plpgsql {volatile} as $$
declare
  wanted text collate "C" := conversation;
  wanted_id text collate "C" := id;
  c conversations;
  m messages;
begin
  perform check_id('conversation', wanted);
  perform check_id('id', wanted_id);
  c := lock_existing(wanted);
  m := existing_message(c, wanted_id);
  if not m.deleted then m := replace_message(c, m, null); end if;
  return message_object(m);
end
$$;

-- A participant reacts to a message with a key, or takes that back; answers with the message.
create or replace function {schema}.react(
  conversation text, reactor text, id text, key text, is_on boolean)
  returns jsonb language plpgsql {volatile} as $$
declare
  wanted text collate "C" := conversation;
  who text collate "C" := reactor;
  wanted_id text collate "C" := id;
  wanted_key text collate "C" := key;
  c conversations;
  m messages;
  keys json;
  shown jsonb;
  present jsonb;
  place integer;
  next_one text;
begin
  perform check_id('conversation', wanted);
  perform check_id('reactor', who);
  perform check_id('id', wanted_id);
  perform check_id('key', wanted_key);
  if octet_length(wanted_key) > 64 then
    perform refuse('PG400', format(
      'key: a string of %s bytes (accepted: 1-64 bytes of UTF-8 without control characters)',
      octet_length(wanted_key)), null);
  elsif is_on is null then
    perform refuse('PG400', 'is_on: NULL (accepted: true or false)', null);
  end if;
  perform check_enabled();
  c := lock_existing(wanted);
  m := existing_message(c, wanted_id);
  if m.deleted then
    perform refuse('PG409', 'id: the message is deleted', null);
  elsif is_on and not exists (
    select from members p where p.conversation = c.id and p.user_id = who)
  then
    perform refuse('PG404', 'reactor: does not take part in the conversation', null);
  end if;
  keys := keys_of(c, m.seq, who);
  if exists (select from json_array_elements_text(keys) k where k collate "C" = wanted_key) = is_on
  then
    return message_object(m);
  end if;
  shown := coalesce(m.reactions, '[]');
  place := (
    select n - 1 from jsonb_array_elements(shown) with ordinality as s(value, n)
    where (s.value ->> 'key') collate "C" = wanted_key);
  present := coalesce(shown -> place, jsonb_build_object(
    'key', wanted_key, 'count', 0, 'users', '[]'::jsonb));
  if is_on then
    perform hold('limits.reaction_keys',
      jsonb_array_length(shown) + case when place is null then 1 else 0 end,
      jsonb_array_length(shown), 'key: would be the message''s %sth');
    if json_array_length(keys) >= 8 then
      perform refuse('PG413', format(
        'key: would be the user''s %sth on this message, at most 8 are accepted',
        json_array_length(keys) + 1), null);
    end if;
    perform hold('limits.reactions', 1 + (
        select coalesce(sum((s ->> 'count')::bigint), 0)::bigint
        from jsonb_array_elements(shown) s), 0, 'key: would be the message''s reaction %s');
    present := jsonb_set(present, '{count}', to_jsonb((present ->> 'count')::bigint + 1));
    if jsonb_array_length(present -> 'users') < 10 then
      present := jsonb_set(present, '{users}', present -> 'users' || to_jsonb(who::text));
    end if;
  else
    next_one := next_user(c, m.seq, wanted_key);
    present := jsonb_set(present, '{count}', to_jsonb((present ->> 'count')::bigint - 1));
    if present -> 'users' ? who then
      present := jsonb_set(present, '{users}', (present -> 'users') - who::text
        || case when next_one is null then '[]' else jsonb_build_array(next_one) end);
    end if;
  end if;
  if (present ->> 'count')::bigint = 0 then
    shown := shown - place;
  elsif place is null then
    shown := shown || present;
  else
    shown := jsonb_set(shown, array[place::text], present);
  end if;
  return message_object(write_reaction(c, m, who, wanted_key, is_on, shown::json));
end
$$;

-- Moves how far somebody who takes part has read, never back; answers with how far.
create or replace function {schema}.mark_read(conversation text, reader text, seq bigint)
  returns bigint language plpgsql {volatile} as $$
declare
  wanted text collate "C" := conversation;
  who text collate "C" := reader;
  c conversations;
  place bigint;
begin
  perform check_id('conversation', wanted);
  perform check_id('reader', who);
  c := lock_existing(wanted);
  if not exists (
    select from members m where m.conversation = c.id and m.user_id = who)
  then
    perform refuse('PG404', 'reader: does not take part in the conversation', null);
  end if;
  if seq is null or seq < 0 or seq > c.seq then
    perform refuse('PG400', format(
      'seq: %s (accepted: an integer from 0 to %s)', coalesce(seq::text, 'NULL'), c.seq),
      null);
  end if;
  place := read_by(c.id, who);
  if seq > place then
    insert into reads (conversation, user_id, seq) values (c.id, who, mark_read.seq)
      on conflict on constraint reads_pkey do update
      set seq = greatest(reads.seq, excluded.seq);
    perform pg_notify('gapless_' || i.id || '_s', json_build_array(json_build_object(
      'c', c.id, 'u', who, 'seq', mark_read.seq))::text) from installation i;
  end if;
  return greatest(place, seq);
end
$$;
