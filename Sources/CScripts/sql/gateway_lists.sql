-- A place in a user's list log: no number of rows, since nobody waits for anybody there,
-- but the oldest transaction that may still bring some. The mark is that of a row of this
-- user and of this server's history: where either is another, nothing is said. Between two
-- starts of a server an older copy may have been put in its place, and transactions of the
-- same numbers run again.
create or replace function {schema}.history_mark()
  returns text language plpgsql {stable} as $$
begin
  return left(md5(system_id() || '/' || timeline() || '/'
    || extract(epoch from pg_postmaster_start_time())), 12);
end
$$;

create or replace function {schema}.list_place(p_user text)
  returns json language plpgsql {stable} as $$
begin
  return (
    select json_build_object(
      'place', pg_snapshot_xmin(pg_current_snapshot())::text::bigint,
      'mark', coalesce((
        select left(mark, 8) from list_changes where user_id = p_user
        order by id desc limit 1), '00000000') || history_mark())
  );
end
$$;

create or replace function {schema}.read_list(p_question json)
  returns json language plpgsql {stable} as $$
declare
  reader text := p_question ->> 'user';
  most bigint := (p_question ->> 'limit')::bigint;
  bytes bigint := (p_question ->> 'bytes')::bigint;
  cursor_time bigint;
  cursor_id text;
  c conversations;
  shown json;
  views json[] := '{}';
  next json;
  taken bigint := 0;
  last json;
begin
  if json_typeof(p_question -> 'cursor') = 'array' then
    cursor_time := p_question -> 'cursor' ->> 0;
    cursor_id := p_question -> 'cursor' ->> 1;
  end if;
  for c in
    select conversations.* from members
    join conversations on conversations.id = members.conversation
    where members.user_id = reader and (cursor_time is null
      or milliseconds(activity) < cursor_time
      or milliseconds(activity) = cursor_time and conversations.id < cursor_id)
    order by activity desc, conversations.id desc limit most + 1
  loop
    if cardinality(views) >= most or cardinality(views) > 0 and taken > bytes then
      next := last;
      exit;
    end if;
    shown := view_json(c, reader, '{}');
    views := views || shown;
    taken := taken + octet_length(shown::text);
    last := json_build_array(milliseconds(c.activity), c.id);
  end loop;
  return json_build_object(
    'word', 'done', 'views', array_to_json(views), 'next', next,
    'total', (select count(*) from members where user_id = reader),
    'unread', unread_of(reader));
end
$$;

-- Where all conversations of a user stand, latest activity first; and who left since a
-- place, if that can be told.
create or replace function {schema}.read_standing(p_question json)
  returns json language plpgsql {stable} as $$
declare
  reader text := p_question ->> 'user';
  seen text := p_question ->> 'mark';
  since bigint := (p_question ->> 'place')::bigint;
  known boolean;
  listed json;
  mentioned json;
  told text[] := '{}';
  place json := list_place(p_question ->> 'user');
begin
  known := coalesce(
    substr(seen, 9) = history_mark() and since >= 0
    and since <= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    and (left(seen, 8) = '00000000' or exists (
      select from list_changes
      where user_id = reader and left(mark, 8) = left(seen, 8))), false);
  if known then
    told := array(
      select conversation from list_changes
      where user_id = reader and xid >= since::text::xid8 limit 10001);
    known := cardinality(told) <= 10000;
  end if;
  -- A gateway of the version before takes five values of an entry, and no more.
  select
    coalesce(json_agg(json_build_array(
      c.id, milliseconds(c.activity), head_json(c), r.seq, unread_above(c, r.seq))
      order by c.activity desc, c.id desc), '[]'),
    coalesce(json_agg(unread_mentions(c, reader, r.seq)
      order by c.activity desc, c.id desc), '[]')
    into listed, mentioned
    from members m join conversations c on c.id = m.conversation
    cross join lateral (select read_by(c.id, reader) as seq) r
    where m.user_id = reader;
  return json_build_object(
    'word', 'done', 'known', known, 'place', place -> 'place', 'mark', place -> 'mark',
    'gone', (
      select coalesce(json_agg(distinct id), '[]') from unnest(told) as t(id)
      where not exists (
        select from members m where m.conversation = t.id and m.user_id = reader)),
    'entries', listed, 'mentions', mentioned);
end
$$;

create or replace function {schema}.unread_of(p_user text)
  returns json language plpgsql {stable} as $$
begin
  return (
    select json_build_object(
      'messages', coalesce(sum(unread), 0),
      'conversations', count(*) filter (where unread > 0),
      'mentions', coalesce(sum(mentions), 0))
    from (
      select unread_above(c, r.seq) as unread, unread_mentions(c, p_user, r.seq) as mentions
      from members m join conversations c on c.id = m.conversation
      cross join lateral (select read_by(c.id, p_user) as seq) r
      where m.user_id = p_user) as each
  );
end
$$;

create or replace function {schema}.read_since(p_question json)
  returns json language plpgsql {stable} as $$
declare
  reader text := p_question ->> 'user';
  seen text := p_question ->> 'mark';
  since bigint := (p_question ->> 'place')::bigint;
  told text[];
begin
  if seen is null or substr(seen, 9) <> history_mark() or since is null or since < 0
    or since > pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    or left(seen, 8) <> '00000000' and not exists (
      select from list_changes
      where user_id = reader and left(mark, 8) = left(seen, 8))
  then
    return json_build_object('word', 'conflict');
  end if;
  told := array(
    select conversation from list_changes
    where user_id = reader and xid >= since::text::xid8
    limit (p_question ->> 'limit')::bigint + 1);
  if cardinality(told) > (p_question ->> 'limit')::bigint then
    return json_build_object('word', 'conflict');
  end if;
  return json_build_object(
    'word', 'done', 'place', list_place(reader) -> 'place',
    'mark', list_place(reader) -> 'mark',
    'views', (
      select coalesce(json_agg(view_json(c, reader, '{}')), '[]')
      from members m join conversations c on c.id = m.conversation
      where m.user_id = reader and m.conversation = any (told)),
    'removed', (
      select coalesce(json_agg(distinct id), '[]') from unnest(told) as t(id)
      where not exists (
        select from members m where m.conversation = t.id and m.user_id = reader)));
end
$$;

create or replace function {schema}.read_of_all(p_question json)
  returns json language plpgsql {stable} as $$
declare
  asked text[] := array(select value from json_array_elements_text(
    case when json_typeof(p_question -> 'conversations') = 'array'
      then p_question -> 'conversations' else '[]' end));
  users text[] := array(select value from json_array_elements_text(
    case when json_typeof(p_question -> 'users') = 'array'
      then p_question -> 'users' else '[]' end));
begin
  case p_question ->> 'q'
  when 'enabled' then
    return json_build_object('word', 'done', 'enabled', is_enabled());
  when 'heads' then
    return json_build_object('word', 'done', 'heads', (
      select coalesce(json_object_agg(c.id, case when is_whole(c) then head_json(c)
        else json_build_object('damaged', 'head') end), '{}')
      from conversations c where c.id = any (asked)));
  when 'list' then
    return read_list(p_question);
  when 'standing' then
    return read_standing(p_question);
  when 'views' then
    return json_build_object('word', 'done', 'views', (
      select coalesce(json_agg(view_json(c, p_question ->> 'user', '{}')), '[]')
      from members m join conversations c on c.id = m.conversation
      where m.user_id = p_question ->> 'user' and m.conversation = any (asked)));
  when 'place' then
    return json_build_object(
      'word', 'done', 'place', list_place(p_question ->> 'user') -> 'place',
      'mark', list_place(p_question ->> 'user') -> 'mark',
      'unread', unread_of(p_question ->> 'user'));
  when 'since' then
    return read_since(p_question);
  when 'listed' then
    -- Whatever became visible since a place, however long its transaction was open.
    return json_build_object('word', 'done',
      'place', pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 'listed', (
        select coalesce(json_agg(json_build_array(
          user_id, id, conversation, is_in) order by id), '[]')
        from list_changes
        where user_id = any (users) and conversation = any (asked)
          and xid >= (p_question ->> 'since')::xid8));
  when 'distinct' then
    return coalesce((
      select json_build_object(
        'word', 'done', 'view', view_json(c, p_question ->> 'reader', '{}'))
      from distinct_of(decode(p_question ->> 'people', 'hex'), users) c
      where c.id is not null), json_build_object('word', 'absent'));
  when 'disconnects' then
    return json_build_object(
      'word', 'done', 'now', milliseconds(clock_timestamp()), 'entries', (
        select coalesce(json_agg(json_build_object(
          'n', d.id, 'at', milliseconds(d.at), 'user', d.user_id, 'back', d.may_return,
          'by', d.told_by) order by d.id), '[]')
        from (
          select * from disconnects
          where id > coalesce((p_question ->> 'after')::bigint, 0)
            and at >= clock_timestamp() - interval '1 hour'
          order by id limit 1000) d));
  when 'blocked' then
    return json_build_object('word', 'done', 'pids', (
        select coalesce(json_agg(pid), '[]')
        from unnest(pg_blocking_pids((p_question ->> 'pid')::int)) as pid
        where pid <> 0), 'gids', (
        select coalesce(json_agg(gid), '[]') from pg_prepared_xacts
        where database = current_database()
          and 0 = any (pg_blocking_pids((p_question ->> 'pid')::int))));
  end case;
end
$$;

-- The conversation that is the distinct one of these people, and still has just them.
create or replace function {schema}.distinct_of(p_people bytea, p_users text[])
  returns {schema}.conversations language sql {stable} as $$
  select c.* from distincts d join conversations c on c.id = d.conversation
  where d.people = p_people and c.people = p_people
    and c.participants = (select count(distinct u) from unnest(p_users) u)
    and not exists (
      select from members m where m.conversation = c.id and m.user_id <> all (p_users))
$$;

-- One question; a gateway asks all of a turn in one statement, and so of one snapshot.
create or replace function {schema}.gateway_read(question json)
  returns json language plpgsql {stable} as $$
declare
  c conversations;
begin
  if question is null or json_typeof(question) <> 'object' then
    perform refuse('PG400', 'question: NULL (accepted: an object)', null);
  end if;
  if question ->> 'c' is null then return read_of_all(question); end if;
  select * into c from conversations where id = question ->> 'c';
  if not found then return json_build_object('word', 'absent'); end if;
  return read_conversation(c, question);
end
$$;
