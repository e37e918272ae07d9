-- ---------------------------------------------------------------------------------------
-- Who is there. The server's clock gives each moment, in milliseconds; nothing is judged
-- here. Whom a gateway says, the others hear by the channel of signals; those of an earlier
-- version leave it out.

-- When it was over that a gateway had a user; NULL: it may not be.
create or replace function {schema}.presence_over(
  p {schema}.presence, p_now bigint, p_patience bigint)
  returns bigint language plpgsql {stable} as $$
declare
  heard bigint;
begin
  if p.ended is not null then
    return case when p.lasts <= p_now then p.ended end;
  end if;
  heard := greatest(p.said, (
    select renewed from presence_leases where gateway = p.gateway));
  return case when heard + p_patience < p_now then heard end;
end
$$;

-- What one gateway says of a user.
create or replace function {schema}.presence_say(
  p_new {schema}.presence, p_now bigint, p_patience bigint)
  returns void language plpgsql {volatile} as $$
declare
  old presence;
  remain boolean;
begin
  select * into old from presence
    where user_id = p_new.user_id and gateway = p_new.gateway;
  insert into presence select p_new.*
    on conflict (user_id, gateway) do update set away = excluded.away,
      since = excluded.since, said = excluded.said, era = excluded.era,
      ended = excluded.ended, lasts = excluded.lasts;
  -- A user stays since when they came: who comes takes it over from who left and still counts,
  -- who remains from who leaves.
  if p_new.ended is null then
    update presence p set since = o.since
      from (
        select min(since) as since from presence
        where user_id = p_new.user_id and gateway <> p_new.gateway and away = p_new.away
          and ended is not null and lasts > p_now) o
      where p.user_id = p_new.user_id and p.gateway = p_new.gateway and o.since < p.since;
  end if;
  if old.user_id is not null and old.ended is null
    and (old.away <> p_new.away or p_new.ended is not null)
  then
    update presence set since = least(since, old.since)
      where user_id = p_new.user_id and gateway <> p_new.gateway and ended is null
        and away = old.away;
    remain := found;
    if not old.away and not remain then
      update presence set since = greatest(since, coalesce(p_new.ended, p_new.since))
        where user_id = p_new.user_id and ended is null and away;
    end if;
  end if;
  -- Of those that are over, the last one says since when the user is absent.
  delete from presence p
    where p.user_id = p_new.user_id and p.gateway <> p_new.gateway
      and presence_over(p, p_now, p_patience) <= coalesce(p_new.ended, p_now);
end
$$;

-- Says users, renews the lease, and reads users, in this order.
create or replace function {schema}.gateway_presence(question json)
  returns json language plpgsql {volatile} as $$
declare
  here text := question ->> 'gateway';
  turn bigint := (question ->> 'number')::bigint;
  lease bigint := (question ->> 'lease')::bigint;
  patience bigint := lease + (question ->> 'grace')::bigint;
  oldest bigint;
  present bigint := milliseconds(clock_timestamp());
  process text := system_id() || '-' || timeline() || '-'
    || trunc(extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint;
  age presence_era;
  given record;
  piece text := '';
  channel text := (select 'gapless_' || id || '_s' from installation);
  known boolean;
  renews boolean := false;
  says boolean := json_array_length(question -> 'says') > 0;
begin
  if question is null or json_typeof(question) <> 'object' then
    perform refuse('PG400', 'question: NULL (accepted: an object)', null);
  end if;
  oldest := present - (question ->> 'retain')::bigint;
  -- A start of the server, or data, of which nothing was known begins an era.
  select * into age from presence_era;
  if age.process is distinct from process then
    insert into presence_era (process, began, young)
      values (process, present, present + lease)
      on conflict (only_row) do update
        set process = excluded.process, began = excluded.began, young = excluded.young
        where presence_era.process <> excluded.process;
    select * into age from presence_era;
  end if;
  -- A call that a later one has overtaken says and renews nothing.
  if says or question ->> 'renewal' <> 'none' then
    insert into presence_leases as l (gateway, number) values (here, turn)
      on conflict (gateway) do update set number = excluded.number
        where l.number <= excluded.number;
    if not found then
      says := false;
      question := jsonb_set(question::jsonb, '{renewal}', '"none"')::json;
    end if;
  end if;
  -- Gateways that say the same user at once take turns; one of many users takes few locks.
  if says then
    perform pg_advisory_xact_lock(
        hashtextextended('presence:' || (select id from installation) || ':' || bucket, 0))
      from (
        select distinct hashtext(value ->> 'user') & 63 as bucket
        from json_array_elements(question -> 'says') order by 1) as buckets;
  end if;
  for given in
    select value from json_array_elements(question -> 'says') as s(value)
    where says
    order by value ->> 'user' collate "C"
  loop
    perform presence_say(
      row(
        given.value ->> 'user', here, (given.value ->> 'away')::boolean,
        present - (given.value ->> 'begun')::bigint, present, age.began,
        present - (given.value ->> 'ended')::bigint,
        case when given.value ->> 'ended' is not null
          then present + (given.value ->> 'lasts')::bigint end)::presence,
      present, patience);
    if octet_length(piece) > 6000 then
      perform pg_notify(channel, '[{"p":[' || piece || ']}]');
      piece := '';
    end if;
    piece := piece || case when piece = '' then '' else ',' end
      || to_json(given.value ->> 'user')::text;
  end loop;
  if piece <> '' then perform pg_notify(channel, '[{"p":[' || piece || ']}]'); end if;
  known := question ->> 'era' = age.process || '-' || age.began;
  renews := coalesce(
    question ->> 'renewal' = 'whole'
    or known and question ->> 'renewal' = 'allSaid'
    or known and question ->> 'renewal' = 'ifHeld' and exists (
      select from presence_leases where gateway = here and renewed + lease >= present), false);
  if renews then
    update presence_leases set renewed = present, era = age.began
      where gateway = here;
    -- A few that are older than what is kept.
    delete from presence where ctid in (
      select p.ctid from presence p
      where p.said < oldest and presence_over(p, present, patience) < oldest
      order by p.said limit 100 for update skip locked);
    delete from presence_leases where ctid in (
      select l.ctid from presence_leases l where renewed < oldest
      order by renewed limit 100 for update skip locked);
  elsif says and present < age.young and not exists (
    select from presence_leases l where l.gateway = here and l.era = age.began)
  then
    -- A gateway that is still saying its users in this era keeps it young.
    update presence_era e set young = greatest(e.young, present + lease);
    select * into age from presence_era;
  end if;
  return json_build_object(
    'word', 'done', 'now', present, 'era', age.process || '-' || age.began,
    'began', age.began, 'young', age.young, 'renewed', renews,
    'leases', (
      select coalesce(json_agg(json_build_array(gateway, renewed)), '[]')
      from presence_leases where renewed + patience >= present),
    'users', (
      select coalesce(json_agg(json_build_array(
        p.user_id, p.gateway, p.away, p.since, p.said, p.ended, p.lasts, l.renewed,
        p.era <> age.began and coalesce(l.era = age.began, false))), '[]')
      from json_array_elements_text(question -> 'reads') as r(user_id)
        join presence p on p.user_id = r.user_id
        left join presence_leases l on l.gateway = p.gateway));
end
$$;
