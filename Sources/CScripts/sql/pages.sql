-- ---------------------------------------------------------------------------------------
-- Reading: one snapshot, that of the calling statement.

-- The places right below and right above which a page continues. An anchor is
-- {"seq": n}, {"id": text} or {"time": milliseconds}; no place: no such message.
create or replace function {schema}.anchor_place(
  c {schema}.conversations, p_anchor json, out lower_place bigint, out upper_place bigint)
  language plpgsql {stable} as $$
declare
  kind text := (select key from json_each(p_anchor) limit 1);
  at timestamptz;
  low bigint := c.floor - 1;
  high bigint := c.seq + 1;
  middle bigint;
begin
  if kind = 'seq' then
    lower_place := (p_anchor ->> 'seq')::bigint;
    upper_place := lower_place;
  elsif kind = 'id' then
    select seq, seq into lower_place, upper_place from messages
      where conversation = c.id and id = p_anchor ->> 'id' and seq >= c.floor;
  elsif kind = 'time' then
    at := to_timestamp((p_anchor ->> 'time')::numeric / 1000);
    -- Messages are in the order of their moments, so halving finds one.
    while low + 1 < high loop
      middle := (low + high) / 2;
      if exists (
        select from messages
        where conversation = c.id and seq = middle and created_at < at)
      then
        low := middle;
      else
        high := middle;
      end if;
    end loop;
    lower_place := high - 1;
    upper_place := high;
  end if;
end
$$;

-- Messages between two places, both inclusive, from the first on towards the other: at most
-- so many, and none behind the one that passes so many bytes.
create or replace function {schema}.walk(
  p_conversation text, p_from bigint, p_to bigint, p_limit bigint, p_bytes bigint)
  returns setof {schema}.messages language plpgsql {stable} as $$
declare
  m messages;
  taken bigint := 0;
begin
  if p_from <= p_to then
    for m in select * from messages
      where conversation = p_conversation and seq between p_from and p_to
      order by seq limit p_limit
    loop
      exit when taken > p_bytes;
      taken := taken + bytes_of(m);
      return next m;
    end loop;
  end if;
end
$$;

create or replace function {schema}.walk_back(
  p_conversation text, p_from bigint, p_to bigint, p_limit bigint, p_bytes bigint)
  returns setof {schema}.messages language plpgsql {stable} as $$
declare
  m messages;
  taken bigint := 0;
begin
  if p_from >= p_to then
    for m in select * from messages
      where conversation = p_conversation and seq between p_to and p_from
      order by seq desc limit p_limit
    loop
      exit when taken > p_bytes;
      taken := taken + bytes_of(m);
      return next m;
    end loop;
  end if;
end
$$;

-- About as many bytes as messages take in an answer.
create or replace function {schema}.size_of(p_messages {schema}.messages[])
  returns bigint language plpgsql {stable} as $$
begin
  return coalesce((
    select sum(bytes_of(m))
    from unnest(p_messages) as m), 0);
end
$$;

-- A page, newest first whatever the order. The word is done, missing (an anchor), crossed
-- (around with another anchor) or damaged (a place in it, or next to its anchor, has no
-- message).
create or replace function {schema}.page_of(
  c {schema}.conversations, p_limit bigint, p_bytes bigint, p_is_ascending boolean,
  p_before json, p_after json, p_around json,
  out word text, out field text, out listed {schema}.messages[], out more_before boolean,
  out more_after boolean)
  language plpgsql {stable} as $$
declare
  before_low bigint; before_high bigint;
  after_low bigint; after_high bigint;
  around_low bigint; around_high bigint;
  older bigint; newer bigint; count bigint; room bigint;
  middle messages[];
  -- Places that must be in it, where the log has them: those next to its anchors.
  due bigint[];
begin
  word := 'missing';
  if p_before is not null then
    field := 'before';
    select * into before_low, before_high from anchor_place(c, p_before);
    if before_low is null then return; end if;
  end if;
  if p_after is not null then
    field := 'after';
    select * into after_low, after_high from anchor_place(c, p_after);
    if after_low is null then return; end if;
  end if;
  if p_around is not null then
    if p_before is not null or p_after is not null then
      word := 'crossed';
      return;
    end if;
    field := 'around';
    select * into around_low, around_high from anchor_place(c, p_around);
    if around_low is null then return; end if;
  end if;
  field := null;
  if p_around is not null then
    -- The newer side may take half of the bytes, the older side all that is left.
    select array_agg(m) into middle from messages m
      where conversation = c.id and seq = around_low and around_low = around_high
        and seq between c.floor and c.seq;
    room := p_bytes - size_of(middle);
    select array_agg(w order by (w).seq desc) into listed from walk(
      c.id, greatest(around_low + 1, c.floor), c.seq, p_limit, room / 2) w;
    due := array[
      case when room >= 0 then greatest(around_low + 1, c.floor) end,
      case when room - size_of(listed) >= 0 then least(around_high - 1, c.seq) end,
      case when around_low = around_high then around_low end];
    listed := listed || middle || array(
      select w from walk_back(
        c.id, least(around_high - 1, c.seq), c.floor, p_limit,
        room - size_of(listed)) w order by (w).seq desc);
    older := around_high; newer := around_low;
  elsif p_before is not null and (not p_is_ascending or p_after is null) then
    select array_agg(w order by (w).seq desc) into listed from walk_back(
      c.id, least(before_high - 1, c.seq), greatest(coalesce(after_low, 0) + 1, c.floor),
      p_limit, p_bytes) w;
    older := coalesce(after_high, before_high); newer := before_low;
    due := array[case when greatest(coalesce(after_low, 0) + 1, c.floor)
      <= least(before_high - 1, c.seq) then least(before_high - 1, c.seq) end];
  elsif p_after is not null then
    select array_agg(w order by (w).seq desc) into listed from walk(
      c.id, greatest(after_low + 1, c.floor),
      least(coalesce(before_high - 1, c.seq), c.seq), p_limit, p_bytes) w;
    older := after_high; newer := coalesce(before_low, after_low);
    due := array[case when greatest(after_low + 1, c.floor)
      <= coalesce(before_high - 1, c.seq) then greatest(after_low + 1, c.floor) end];
  else
    select array_agg(w order by (w).seq desc) into listed
      from walk_back(c.id, c.seq, c.floor, p_limit, p_bytes) w;
    older := 0; newer := c.seq;
    due := array[c.seq];
  end if;
  listed := coalesce(listed, '{}');
  count := cardinality(listed);
  if count > 0 then
    older := (listed[count]).seq; newer := (listed[1]).seq;
  end if;
  word := 'done';
  if count > 0 and newer - older + 1 <> count or not is_whole(c) or exists (
    select from unnest(due) place
    where place between c.floor and c.seq
      and (count = 0 or place not between older and newer))
  then
    word := 'damaged';
  end if;
  more_before := least(older - 1, c.seq) >= c.floor;
  more_after := greatest(newer + 1, c.floor) <= c.seq;
end
$$;

-- An anchor of a query: a number is a seq, a string an id, {"time": RFC 3339} a moment.
create or replace function {schema}.anchor_of(p_query jsonb, p_field text)
  returns json language plpgsql {stable} as $$
declare
  value jsonb := p_query -> p_field;
  said text;
  at timestamptz;
  accepted text := ' (accepted: a seq, the id of a message, or {"time": "<RFC 3339>"})';
begin
  if value is null or jsonb_typeof(value) = 'null' then return null; end if;
  if jsonb_typeof(value) = 'number' then
    return json_build_object(
      'seq', integer_of(p_query, p_field, 0, 9007199254740991));
  elsif jsonb_typeof(value) = 'string' then
    perform check_id(p_field, value #>> '{}');
    return json_build_object('id', value #>> '{}');
  end if;
  said := value ->> 'time';
  -- [0-9]: with standard_conforming_strings off a backslash would be something else.
  if jsonb_typeof(value -> 'time') = 'string' and said ~ ('^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]'
    '[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$')
  then
    begin
      at := said::timestamptz;
      return json_build_object('time', milliseconds(at));
    exception when datetime_field_overflow or invalid_datetime_format
      or invalid_time_zone_displacement_value
    then
      null;
    end;
  end if;
  perform refuse('PG400', format('%s: %s%s', p_field, phrase(value), accepted), null);
end
$$;

-- Messages of a conversation, by after, before, around, limit (100) and order (desc).
create or replace function {schema}.messages(conversation text, query jsonb)
  returns setof jsonb language plpgsql {stable} as $$
declare
  wanted text collate "C" := conversation;
  c conversations;
  most bigint;
  sort text;
  page record;
begin
  perform check_id('conversation', wanted);
  perform check_object('query', query);
  most := coalesce(integer_of(query, 'limit', 1, 1000), 100);
  sort := case when jsonb_typeof(query -> 'order') = 'null' then 'desc'
    when query ? 'order' then query ->> 'order' else 'desc' end;
  if sort not in ('asc', 'desc') or jsonb_typeof(query -> 'order') not in ('string', 'null')
  then
    perform refuse('PG400', 'order: ' || case when jsonb_typeof(query -> 'order') = 'string'
      then 'another string' else phrase(query -> 'order') end
      || ' (accepted: asc, desc)', null);
  end if;
  select * into c from conversations where id = wanted;
  if not found then
    perform refuse('PG404', 'conversation: no such conversation', null);
  end if;
  select * into page from page_of(
    c, most, 9223372036854775807 / 2, sort = 'asc', anchor_of(query, 'before'),
    anchor_of(query, 'after'), anchor_of(query, 'around'));
  if page.word = 'crossed' then
    perform refuse('PG400',
      'around: with before or after (accepted: without them)', null);
  elsif page.word = 'missing' then
    perform refuse('PG404', page.field || ': no such message', null);
  elsif page.word = 'damaged' then
    raise exception using errcode = 'XX001',
      message = format(
        'conversation %s: a message of its log is not there', plain(c.id)),
      hint = 'something other than these functions wrote or deleted rows of this log';
  end if;
  return query select message_object(m) from unnest(page.listed) as m
    order by case when sort = 'asc' then m.seq else - m.seq end;
end
$$;

-- The head of a conversation; NULL: there is none.
create or replace function {schema}.head(conversation text)
  returns jsonb language plpgsql {stable} as $$
declare
  wanted text collate "C" := conversation;
begin
  perform check_id('conversation', wanted);
  return (select head_object(c) from conversations c where c.id = wanted);
end
$$;
