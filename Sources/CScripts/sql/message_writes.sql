-- The content of a message as it is kept: with the place of the message to which it replies, and
-- of the users whom it mentions those who take part.
create or replace function {schema}.addressed(
  c {schema}.conversations, p_content json, p_retain_ids bigint)
  returns json language plpgsql {stable} as $$
declare
  reply text := p_content #>> '{replyTo,id}';
  place bigint;
  present json;
begin
  if reply is not null then
    select seq into place from messages where conversation = c.id and id = reply;
    if not found then
      select seq into place from trimmed
        where conversation = c.id and id = reply and seq < c.floor
          and created_at >= clock_timestamp() - p_retain_ids * interval '1 millisecond';
    end if;
  end if;
  select json_agg(value order by n) into present
    from json_array_elements_text(coalesce(p_content -> 'mentions', '[]'))
      with ordinality as u(value, n)
    where exists (select from members where conversation = c.id and user_id = u.value);
  return (
    select coalesce(json_object_agg(key, value), '{}') from (
      select key, value from json_each(p_content) where key not in ('replyTo', 'mentions')
      union all select 'replyTo', json_strip_nulls(json_build_object('id', reply, 'seq', place))
        where reply is not null
      union all select 'mentions', present where present is not null) as fields);
end
$$;

-- Enters whom a message mentions.
create or replace function {schema}.enter_mentions(m {schema}.messages)
  returns void language plpgsql {volatile} as $$
begin
  if m.deleted or strpos(m.content::text, '"mention') = 0 then return; end if;
  if (m.content ->> 'mentionAll')::boolean then
    insert into mentions (conversation, user_id, seq, author)
      values (m.conversation, '', m.seq, m.author);
  else
    insert into mentions (conversation, user_id, seq, author)
      select distinct m.conversation, value, m.seq, m.author
      from json_array_elements_text(coalesce(m.content -> 'mentions', '[]'))
      where value <> m.author;
  end if;
end
$$;

-- Appends messages, each with id, given (whether its author gave the id), author and
-- content: all of them or none, and each once, however often it is sent. Ids of messages
-- that are gone are known for so many milliseconds.
create or replace function {schema}.append_messages(
  c {schema}.conversations, p_messages json, p_retain_ids bigint)
  returns json language plpgsql {volatile} as $$
declare
  entry json;
  n integer := 0;
  m messages;
  gone trimmed;
  hashes bytea[] := '{}';
  again integer[] := '{}';
  sent json[] := '{}';
  earlier jsonb := '{}';
  at integer;
  present timestamptz :=
    greatest(date_trunc('milliseconds', clock_timestamp()), c.activity);
  first bigint := c.seq;
  content json;
  asks boolean := false;
  is_addressed boolean;
begin
  -- All is decided before the first is written.
  for entry in select value from json_array_elements(p_messages) loop
    n := n + 1;
    hashes[n] := content_hash(entry -> 'content');
    sent[n] := null;
    again[n] := null;
    asks := asks or coalesce((entry ->> 'asksAdmin')::boolean, false);
    continue when not coalesce((entry ->> 'given')::boolean, false);
    select * into m from messages where conversation = c.id and id = entry ->> 'id';
    if found then
      if m.hash <> hashes[n] or m.author <> entry ->> 'author' then
        return json_build_object('word', 'taken');
      end if;
      sent[n] := message_json(m);
      continue;
    end if;
    select * into gone from trimmed
      where conversation = c.id and id = entry ->> 'id' and seq < c.floor
        and created_at >= present - p_retain_ids * interval '1 millisecond';
    if found then
      if gone.hash <> hashes[n] or gone.author <> entry ->> 'author' then
        return json_build_object('word', 'taken');
      end if;
      sent[n] := trimmed_json(gone);
      continue;
    end if;
    at := earlier -> (entry ->> 'id') -> 'n';
    if at is null then
      earlier := earlier || jsonb_build_object(
        entry ->> 'id', jsonb_build_object('n', n, 'author', entry ->> 'author'));
    elsif hashes[at] <> hashes[n]
      or earlier -> (entry ->> 'id') ->> 'author' <> entry ->> 'author'
    then
      return json_build_object('word', 'taken');
    else
      again[n] := at;
    end if;
  end loop;
  -- Only an admin mentions everybody, where there are any and the gateway says so.
  if asks and c.admins > 0 then
    n := 0;
    for entry in select value from json_array_elements(p_messages) loop
      n := n + 1;
      if sent[n] is null and again[n] is null
        and coalesce((entry ->> 'asksAdmin')::boolean, false) and not exists (
          select from members
          where conversation = c.id and user_id = entry ->> 'author' and is_admin)
      then
        return json_build_object('word', 'forbidden');
      end if;
    end loop;
  end if;

  n := 0;
  for entry in select value from json_array_elements(p_messages) loop
    n := n + 1;
    continue when sent[n] is not null;
    if again[n] is not null then
      sent[n] := sent[again[n]];
      continue;
    end if;
    c.seq := c.seq + 1;
    c.rev := c.rev + 1;
    c.mark := new_mark();
    insert into changes (conversation, rev, mark, slot, at)
      values (c.id, c.rev, c.mark, c.seq, present);
    content := entry -> 'content';
    is_addressed :=
      strpos(content::text, '"replyTo"') > 0 or strpos(content::text, '"mention') > 0;
    if is_addressed then content := addressed(c, content, p_retain_ids); end if;
    insert into messages (
        conversation, seq, rev, id, author, content, created_at, first_rev, hash)
      values (
        c.id, c.seq, c.rev, entry ->> 'id', entry ->> 'author', content,
        present, c.rev, hashes[n])
      returning * into m;
    if is_addressed then perform enter_mentions(m); end if;
    insert into authors (conversation, user_id, seq) values (c.id, m.author, m.seq)
      on conflict (conversation, user_id) do update set seq = excluded.seq;
    -- An id that was free again is not that of the older message any more.
    delete from trimmed where conversation = c.id and id = m.id;
    sent[n] := message_json(m);
  end loop;
  if c.seq > first then
    update conversations
      set seq = c.seq, rev = c.rev, mark = c.mark, last_seq = c.seq, activity = present
      where id = c.id;
    perform ring(c.id);
  end if;
  return json_build_object(
    'word', 'done', 'head', head_json(c), 'new', c.seq - first,
    'sent', array_to_json(sent));
end
$$;

-- Gives a message another content, or makes a tombstone of it (no content).
create or replace function {schema}.replace_message(
  c {schema}.conversations, m {schema}.messages, p_content json)
  returns {schema}.messages language plpgsql {volatile} as $$
begin
  m.edited_at := case when p_content is null then m.edited_at
    else greatest(date_trunc('milliseconds', clock_timestamp()), m.created_at) end;
  if strpos(m.content::text, '"mention') > 0 then
    delete from mentions where conversation = c.id and seq = m.seq;
  end if;
  m.content := p_content;
  m.deleted := p_content is null;
  perform enter_mentions(m);
  if m.deleted then
    if m.reactions is not null then
      delete from reactions where conversation = c.id and seq = m.seq;
    end if;
    m.reactions := null;
    m.content_rev := null;
  elsif m.reactions is not null then
    m.content_rev := c.rev + 1;
  end if;
  return write_message(c, m);
end
$$;

-- The keys with which a user reacts to a message, oldest first.
create or replace function {schema}.keys_of(
  c {schema}.conversations, p_seq bigint, p_user text)
  returns json language plpgsql {stable} as $$
begin
  return (
    select coalesce(json_agg(key order by rev), '[]') from reactions
    where conversation = c.id and seq = p_seq and user_id = p_user);
end
$$;

-- The oldest user of a key behind the ten whom a message names.
create or replace function {schema}.next_user(
  c {schema}.conversations, p_seq bigint, p_key text)
  returns text language plpgsql {stable} as $$
begin
  return (
    select user_id from reactions
    where conversation = c.id and seq = p_seq and key = p_key
    order by rev limit 1 offset 10);
end
$$;

-- A user's reaction to a message begins or ends; the message shows these after it.
create or replace function {schema}.write_reaction(
  c {schema}.conversations, m {schema}.messages, p_user text, p_key text, p_on boolean,
  p_shown json)
  returns {schema}.messages language plpgsql {volatile} as $$
begin
  m.content_rev := coalesce(m.content_rev, m.rev);
  m.reactions := p_shown;
  m := write_message(c, m);
  if p_on then
    insert into reactions (conversation, seq, user_id, key, rev, at)
      values (c.id, m.seq, p_user, p_key, m.rev, clock_timestamp());
  else
    delete from reactions
      where conversation = c.id and seq = m.seq and user_id = p_user and key = p_key;
  end if;
  return m;
end
$$;

-- Writes a message's new value, as the next change.
create or replace function {schema}.write_message(
  c {schema}.conversations, m {schema}.messages)
  returns {schema}.messages language plpgsql {volatile} as $$
declare
  present timestamptz :=
    greatest(date_trunc('milliseconds', clock_timestamp()), m.created_at);
  drawn text := new_mark();
begin
  insert into changes (conversation, rev, mark, slot, at)
    values (c.id, c.rev + 1, drawn, m.seq, present);
  m.rev := c.rev + 1;
  update messages
    set rev = m.rev, content = m.content, edited_at = m.edited_at, deleted = m.deleted,
      reactions = m.reactions, content_rev = m.content_rev
    where conversation = c.id and seq = m.seq;
  if m.deleted and c.last_seq = m.seq then
    select coalesce(max(seq), 0) into c.last_seq from (
      select seq from messages
      where conversation = c.id and seq < m.seq and seq >= c.floor and not deleted
      order by seq desc limit 1) as newest;
  end if;
  update conversations
    set rev = m.rev, mark = drawn, last_seq = c.last_seq where id = c.id;
  perform ring(c.id);
  return m;
end
$$;
