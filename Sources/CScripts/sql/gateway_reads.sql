-- ---------------------------------------------------------------------------------------
-- For gateways: what they ask. Each answer has a word: done, absent (no conversation),
-- missing (no message), damaged (parts of a log contradict each other), conflict.

create or replace function {schema}.system_id()
  returns text language plpgsql {stable} as $$
begin
  return (
    select system_identifier::text from pg_control_system()
  );
end
$$;

-- The timeline of the log that is written now; NULL in recovery.
create or replace function {schema}.timeline()
  returns bigint language plpgsql {stable} as $$
begin
  return case when not pg_is_in_recovery() then
    ('x' || lpad(left(pg_walfile_name(pg_current_wal_lsn()), 8), 16, '0'))::bit(64)::bigint
    end;
end
$$;

create or replace function {schema}.gateway_hello()
  returns json language plpgsql {stable} as $$
begin
  return (
    select json_build_object(
      'system', system_id(), 'timeline', timeline(),
      'started', trunc(extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint,
      'recovery', pg_is_in_recovery(), 'version', i.version, 'minimum', i.version - 1,
      'channel', 'gapless_' || i.id, 'signals', 'gapless_' || i.id || '_s',
      'pid', pg_backend_pid(),
      'place', pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
      'encoding', current_setting('server_encoding'),
      'server', current_setting('server_version_num')::int,
      'synchronousCommit', current_setting('synchronous_commit'))
    from installation i
  );
end
$$;

create or replace function {schema}.damaged(p_part text)
  returns json language plpgsql {stable} as $$
begin
  return json_build_object('word', 'damaged', 'part', p_part);
end
$$;

-- What of a log contradicts the rest of it; NULL: nothing that a glance shows. Many who
-- take part are counted only where all of them are looked at.
create or replace function {schema}.damage_of(
  c {schema}.conversations, p_of_all boolean)
  returns text language plpgsql {stable} as $$
begin
  return (
    select case
      when not is_whole(c) then 'head'
      when c.last_seq > 0 and not exists (
        select from messages where conversation = c.id and seq = c.last_seq and not deleted)
      then 'messages'
      when (p_of_all or c.participants <= 100)
        and c.participants <> (select count(*) from members where conversation = c.id)
      then 'members' end
  );
end
$$;

-- What a log lacks of the changes above one, up to another: the row of a change, or the
-- value that it wrote, or a later one; NULL: nothing. Where marks are not kept the messages
-- are counted, once the end is reached.
create or replace function {schema}.hole_in(
  c {schema}.conversations, p_above bigint, p_up_to bigint)
  returns text language plpgsql {stable} as $$
declare
  kept_from bigint := greatest(p_above, c.base);
  kept bigint;
  lost bigint;
begin
  select count(*), count(*) filter (where ch.slot >= c.floor and m.seq is null)
    into kept, lost
    from changes ch
    left join messages m
      on m.conversation = c.id and m.seq = ch.slot and m.rev >= ch.rev
    where ch.conversation = c.id and ch.rev > kept_from and ch.rev <= p_up_to;
  if kept <> greatest(p_up_to - kept_from, 0) then return 'revs'; end if;
  if p_above < c.base and p_up_to = c.rev then
    select c.seq - c.floor + 1 - count(*) into lost
      from messages where conversation = c.id and seq between c.floor and c.seq;
  end if;
  return case when lost > 0 then 'messages' end;
end
$$;

create or replace function {schema}.read_changes(
  c {schema}.conversations, p_question json)
  returns json language plpgsql {stable} as $$
declare
  since bigint := (p_question ->> 'since')::bigint;
  mark text := p_question ->> 'mark';
  most bigint := (p_question ->> 'limit')::bigint;
  bytes bigint := (p_question ->> 'bytes')::bigint;
  above bigint := (p_question ->> 'recordAbove')::bigint;
  slot record;
  taken bigint := 0;
  n bigint := 0;
  up_to bigint := since;
  more boolean := false;
  sent json[] := '{}';
  with_record boolean := false;
  known text;
  part text;
begin
  if since > 0 and mark is not null then
    select ch.mark into known from changes ch
      where ch.conversation = c.id and ch.rev = since;
    if known is null and since > c.base and since <= c.rev then
      return damaged('revs');
    end if;
  end if;
  if since > c.rev or since = 0 and mark <> ''
    or since > 0 and mark is not null and known is distinct from mark
  then
    return json_build_object('word', 'conflict');
  end if;
  for slot in
    select * from (
      (select m.rev, message_json(m) as shown,
          bytes_of(m) as size
        from messages m
        where m.conversation = c.id and m.rev > since and m.seq >= c.floor
        order by m.rev limit most + 1)
      union all
      (select c.record_rev, null, 0 where c.record_rev > since)) as slots
    order by rev limit most + 1
  loop
    if n >= most or taken > bytes then
      more := true;
      exit;
    end if;
    n := n + 1;
    up_to := slot.rev;
    taken := taken + slot.size;
    if slot.shown is null then with_record := true;
    else sent := sent || slot.shown; end if;
  end loop;
  if not more then up_to := c.rev; end if;
  part := hole_in(c, since, up_to);
  if part is not null then return damaged(part); end if;
  return json_build_object(
    'word', 'done', 'head', head_json(c), 'messages', array_to_json(sent),
    'record', case when with_record or c.record_rev > above
      then view_json(c, null, null) end,
    'upTo', up_to, 'mark', case when up_to = 0 then '' else (
      select ch.mark from changes ch where ch.conversation = c.id and ch.rev = up_to) end,
    'more', more);
end
$$;

-- What followed a change, without a hole.
create or replace function {schema}.read_chain(
  c {schema}.conversations, p_question json)
  returns json language plpgsql {stable} as $$
declare
  since bigint := (p_question ->> 'rev')::bigint;
  seen text := p_question ->> 'mark';
  most bigint := (p_question ->> 'limit')::bigint;
  bytes bigint := (p_question ->> 'bytes')::bigint;
  step record;
  m messages;
  taken bigint := 0;
  n bigint := 0;
  more boolean := false;
  steps json[] := '{}';
  sent json[] := '{}';
  slots bigint[] := '{}';
  with_record boolean := false;
  known text;
begin
  if c.epoch <> p_question ->> 'epoch' then
    return json_build_object('word', 'done', 'head', head_json(c), 'reset', true);
  elsif since > c.rev then
    return json_build_object('word', 'done', 'head', head_json(c), 'lost', true);
  elsif since > 0 then
    select ch.mark into known from changes ch
      where ch.conversation = c.id and ch.rev = since;
    if known is null and since <= c.base then
      return json_build_object('word', 'done', 'head', head_json(c), 'forgotten', true);
    elsif known is null then
      return damaged('revs');
    elsif known <> seen then
      return json_build_object('word', 'done', 'head', head_json(c), 'lost', true);
    end if;
  elsif c.base > 0 then
    return json_build_object('word', 'done', 'head', head_json(c), 'forgotten', true);
  end if;
  for step in
    select ch.rev, ch.slot, ch.mark, ch.joined, ch.gone from changes ch
    where ch.conversation = c.id and ch.rev > since order by ch.rev limit most + 1
  loop
    if n >= most or taken > bytes then
      more := true;
      exit;
    end if;
    n := n + 1;
    if step.rev <> since + n then return damaged('revs'); end if;
    if step.slot = 0 then
      steps := steps
        || json_build_array(step.rev, 0, step.mark, step.joined, step.gone);
      taken := taken + coalesce(pg_column_size(step.joined), 0)
        + coalesce(pg_column_size(step.gone), 0);
      with_record := true;
      continue;
    end if;
    steps := steps || json_build_array(step.rev, step.slot, step.mark);
    if step.slot >= c.floor and step.slot <> all (slots) then
      select * into m from messages where conversation = c.id and seq = step.slot;
      if not found then return damaged('messages'); end if;
      slots := slots || step.slot;
      sent := sent || message_json(m);
      taken := taken + bytes_of(m);
    end if;
  end loop;
  if not more and since + n <> c.rev then return damaged('revs'); end if;
  return json_build_object(
    'word', 'done', 'head', head_json(c), 'revs', array_to_json(steps),
    'messages', array_to_json(sent),
    -- Who is of the log from its beginning is named by it.
    'record', case when with_record
      then view_json(c, null, case when since > 0 then '{}'::text[] end) end,
    'more', more);
end
$$;

create or replace function {schema}.takes_part(c {schema}.conversations, p_user text)
  returns boolean language plpgsql {stable} as $$
begin
  return exists (select from members where conversation = c.id and user_id = p_user);
end
$$;

-- What the rule of a reaction looks at: the keys of the caller and of the user, the next user
-- behind those whom the message names, whether the user takes part, whether it is enabled.
create or replace function {schema}.reactions_seen(c {schema}.conversations, p_question json)
  returns json language plpgsql {stable} as $$
declare
  place bigint := (
    select seq from messages where conversation = c.id and id = p_question ->> 'id');
begin
  return json_build_object(
    'own', keys_of(c, place, coalesce(p_question ->> 'user', p_question ->> 'reactor')),
    'keys', keys_of(c, place, p_question ->> 'reactor'),
    'next', next_user(c, place, p_question ->> 'key'),
    'takesPart', takes_part(c, p_question ->> 'reactor'));
end
$$;

create or replace function {schema}.read_conversation(
  c {schema}.conversations, p_question json)
  returns json language plpgsql {stable} as $$
declare
  m messages;
  page record;
  part text;
  named text[];
  is_lost boolean;
  place bigint;
  has_rev bigint := (p_question ->> 'hasRev')::bigint;
begin
  -- A log without the change that its asker has seen, or without the mark of it, may be
  -- another branch.
  if has_rev > 0 and not exists (
    select from changes ch where ch.conversation = c.id and ch.rev = has_rev
      and ch.mark = p_question ->> 'hasMark')
  then
    return json_build_object('word', 'lost');
  end if;
  case p_question ->> 'q'
  when 'view' then
    named := given_texts(p_question, 'named');
    part := damage_of(c, named is null);
    -- Who names all that take part puts right what is lost of them.
    is_lost := part = 'members' and (p_question ->> 'mends')::boolean;
    if is_lost then
      c.participants := (select count(*) from members where conversation = c.id);
    elsif part is not null then
      return damaged(part);
    end if;
    return json_build_object(
      'word', 'done', 'view', view_json(c, p_question ->> 'reader', named),
      'lost', is_lost);
  when 'whole' then
    part := coalesce(damage_of(c, true), hole_in(c, 0, c.rev));
    if part is not null then return damaged(part); end if;
    return json_build_object('word', 'done');
  when 'look' then
    if not is_whole(c) then return damaged('head'); end if;
    return json_build_object(
      'word', 'done', 'head', head_json(c), 'rev', c.record_rev,
      'member', (select count(*) > 0 from members
        where conversation = c.id and user_id = p_question ->> 'user'),
      'admin', (select count(*) > 0 from members
        where conversation = c.id and user_id = p_question ->> 'user' and is_admin),
      'message', (select message_json(message) from messages message
        where conversation = c.id and id = p_question ->> 'id' and seq >= c.floor),
      'reactions', case when p_question ->> 'key' is not null
        then reactions_seen(c, p_question) end,
      'admins', c.admins,
      'present', case when p_question -> 'mentioned' is not null then (
        select coalesce(json_agg(user_id), '[]') from members
        where conversation = c.id and user_id = any (given_texts(p_question, 'mentioned')))
        end);
  when 'reactions' then
    select * into m from messages
      where conversation = c.id and id = p_question ->> 'id' and seq >= c.floor;
    if not takes_part(c, p_question ->> 'user') then
      return json_build_object('word', 'absent');
    elsif m.seq is null then
      return json_build_object('word', 'missing', 'field', 'id');
    end if;
    return json_build_object('word', 'done', 'message', message_json(m), 'entries', (
      select coalesce(json_agg(json_build_object(
          'user', e.user_id, 'key', e.key, 'rev', e.rev, 'at', milliseconds(e.at))
        order by e.rev), '[]')
      from (
        select * from reactions r
        where r.conversation = c.id and r.seq = m.seq
          and r.rev > (p_question ->> 'after')::bigint
          and (p_question ->> 'key' is null or r.key = p_question ->> 'key')
        order by r.rev limit (p_question ->> 'limit')::bigint) e));
  when 'own' then
    if not takes_part(c, p_question ->> 'user') then
      return json_build_object('word', 'absent');
    end if;
    return json_build_object('word', 'done', 'own', (
      select coalesce(json_agg(json_build_object('seq', r.seq, 'key', r.key)
        order by r.seq, r.rev), '[]')
      from messages o join reactions r
        on r.conversation = o.conversation and r.seq = o.seq
          and r.user_id = p_question ->> 'user'
      where o.conversation = c.id and o.reactions is not null
        and o.seq > greatest((p_question ->> 'after')::bigint, c.floor - 1)
        and o.seq < (p_question ->> 'before')::bigint));
  when 'mentions' then
    select joined_seq into place from members
      where conversation = c.id and user_id = p_question ->> 'user';
    if not found then return json_build_object('word', 'absent'); end if;
    place := greatest(place, c.floor - 1);
    return json_build_object(
      'word', 'done', 'total', mentions_above(c, p_question ->> 'user', place), 'places', (
        select coalesce(json_agg(json_build_object('id', o.id, 'seq', o.seq) order by o.seq), '[]')
        from (
          select seq from (
            (select seq from mentions
              where conversation = c.id and user_id = p_question ->> 'user'
                and seq > greatest(place, (p_question ->> 'after')::bigint)
              order by seq limit (p_question ->> 'limit')::bigint)
            union all
            (select seq from mentions
              where conversation = c.id and user_id = '' and author <> p_question ->> 'user'
                and seq > greatest(place, (p_question ->> 'after')::bigint)
              order by seq limit (p_question ->> 'limit')::bigint)) as kinds
          order by seq limit (p_question ->> 'limit')::bigint) as oldest
        join messages o on o.conversation = c.id and o.seq = oldest.seq));
  when 'message' then
    select * into m from messages
      where conversation = c.id and id = p_question ->> 'id' and seq >= c.floor;
    if not found then
      return json_build_object('word', 'missing', 'field', 'id');
    end if;
    return json_build_object('word', 'done', 'message', message_json(m));
  when 'page' then
    select * into page from page_of(
      c, (p_question ->> 'limit')::bigint, (p_question ->> 'bytes')::bigint,
      p_question ->> 'order' = 'asc', given_anchor(p_question, 'before'),
      given_anchor(p_question, 'after'), given_anchor(p_question, 'around'));
    if page.word <> 'done' then
      return json_build_object(
        'word', page.word, 'field', page.field, 'part', 'messages');
    end if;
    return json_build_object(
      'word', 'done', 'head', head_json(c), 'messages', (
        select coalesce(json_agg(message_json(l) order by l.seq desc), '[]')
        from unnest(page.listed) l),
      'moreBefore', page.more_before, 'moreAfter', page.more_after);
  when 'changes' then
    if not is_whole(c) then return damaged('head'); end if;
    return read_changes(c, p_question);
  when 'chain' then
    if not is_whole(c) then return damaged('head'); end if;
    return read_chain(c, p_question);
  when 'people' then
    return read_people(c, p_question);
  end case;
end
$$;

-- NULL: it is no array.
create or replace function {schema}.given_texts(p_question json, p_field text)
  returns text[] language plpgsql {stable} as $$
begin
  return case when json_typeof(p_question -> p_field) = 'array' then array(
    select value from json_array_elements_text(p_question -> p_field)) end;
end
$$;

create or replace function {schema}.given_anchor(p_question json, p_field text)
  returns json language plpgsql {stable} as $$
begin
  return case when json_typeof(p_question -> p_field) = 'object'
    then p_question -> p_field end;
end
$$;

create or replace function {schema}.read_people(
  c {schema}.conversations, p_question json)
  returns json language plpgsql {stable} as $$
declare
  most bigint := nullif(greatest((p_question ->> 'limit')::bigint, 0), 0);
  skipped bigint := case when most is null then 0
    else coalesce((p_question ->> 'offset')::bigint, 0) end;
  is_ascending boolean := p_question ->> 'order' = 'asc';
  places bigint[];
begin
  -- To a user who does not take part the conversation is not there.
  if p_question ->> 'reader' is not null and not exists (
    select from members
      where conversation = c.id and user_id = p_question ->> 'reader')
  then
    return json_build_object('word', 'absent');
  end if;
  -- Two statements, since an index is read in the order that stands in the statement.
  if is_ascending then
    places := array(select place from members where conversation = c.id
      order by place limit most offset skipped);
  else
    places := array(select place from members where conversation = c.id
      order by place desc limit most offset skipped);
  end if;
  -- Each page has all that belong on it: one that is lost is missed by the last.
  if cardinality(places) <> greatest(least(c.participants - skipped,
    coalesce(most, c.participants)), 0)
  then
    return damaged('members');
  end if;
  return json_build_object(
    'word', 'done', 'total', c.participants, 'members', (
      select coalesce(json_agg(json_build_object(
          'user', m.user_id, 'admin', m.is_admin,
          'createdAt', milliseconds(m.created_at), 'updatedAt', milliseconds(m.updated_at),
          'name', m.name, 'metadata', m.metadata, 'unknown', m.unknown,
          'joinedSeq', m.joined_seq, 'read', greatest(r.seq, a.seq, 0)) order by p.n), '[]')
      from unnest(places) with ordinality as p(place, n)
      join members m on m.conversation = c.id and m.place = p.place
      left join reads r on r.conversation = c.id and r.user_id = m.user_id
      left join authors a on a.conversation = c.id and a.user_id = m.user_id));
end
$$;
