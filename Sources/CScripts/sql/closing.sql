-- ---------------------------------------------------------------------------------------
-- Rights: nobody has any but the two roles, and these to functions only.
revoke all on schema {schema} from public;
revoke all on all tables in schema {schema} from public;
revoke all on all sequences in schema {schema} from public;
revoke all on all functions in schema {schema} from public;

do $rights$
declare
  gateway name := {gateway};
  writer name := {writer};
  here oid := to_regnamespace(quote_ident({schema_text}));
  wanted name;
  entry record;
begin
  -- Default privileges of the owner may have given rights to others. Roles that were granted
  -- what applications call keep it.
  for entry in
    select 'all on table ' || c.oid::regclass as what, a.grantee::regrole as who
      from pg_class c, aclexplode(c.relacl) a
      where relnamespace = here and relkind in ('r', 'v', 'm')
        and a.grantee not in (0, c.relowner)
    union select 'all on sequence ' || c.oid::regclass, a.grantee::regrole
      from pg_class c, aclexplode(c.relacl) a
      where relnamespace = here and relkind = 'S' and a.grantee not in (0, c.relowner)
    union select 'all on function ' || p.oid::regprocedure, a.grantee::regrole
      from pg_proc p, aclexplode(p.proacl) a
      where pronamespace = here and a.grantee not in (0, p.proowner)
        and proname <> all ({called})
    union select 'create on schema ' || n.oid::regnamespace, a.grantee::regrole
      from pg_namespace n, aclexplode(n.nspacl) a
      where n.oid = here and a.privilege_type = 'CREATE'
        and a.grantee not in (0, n.nspowner)
  loop
    execute format('revoke %s from %s cascade', entry.what, entry.who);
  end loop;
  foreach wanted in array array[gateway, writer] loop
    if not exists (select from pg_roles where rolname = wanted) then
      if (select rolsuper or rolcreaterole from pg_roles where rolname = current_user) then
        -- Somebody may install in another database of this server just now.
        begin
          execute format('create role %I nologin', wanted);
        exception when duplicate_object or unique_violation then null;
        end;
      else
        raise warning 'the role % is not there, and % may not make it', wanted,
          current_user
          using hint = format(
            'let an administrator run: create role %I nologin; then install again',
            wanted);
        continue;
      end if;
    end if;
    execute format('grant usage on schema %I to %I', {schema_text}, wanted);
    for entry in
      select oid::regprocedure as signature, proname from pg_proc
      where pronamespace = here
        and (wanted = gateway and starts_with(proname, 'gateway_')
          or wanted = writer and proname = any ({called}))
    loop
      execute format('grant execute on function %s to %I', entry.signature, wanted);
    end loop;
  end loop;
end
$rights$;

-- Rows that came without the numbers behind them, as by logical replication.
do $sequences$
declare
  named text;
  place text;
begin
  foreach named in array array['list_changes', 'disconnects'] loop
    named := format('%I.%I', {schema_text}, named);
    place := pg_get_serial_sequence(named, 'id');
    execute format(
      'select setval(%L, newest) from (select max(id) as newest from %s) t, %s s
        where newest > s.last_value - case when s.is_called then 0 else 1 end',
      place, named, place);
  end loop;
end
$sequences$;

insert into {schema}.installation (version) values ({version})
  on conflict (only_row) do update set version = excluded.version
  where installation.version < excluded.version;
