-- Gapless: the log of conversations, in a schema of its own. Version {version}.
--
-- Printed by `gapless postgres schema`, applied by `gapless postgres install`, or by hand:
-- psql --set ON_ERROR_STOP=1 --file FILE. It may be applied again at any time: tables that
-- are there stay as they are, functions are replaced by the same ones.
--
-- The role that applies it owns everything in it. No extension and no superuser is needed.
set local client_min_messages = warning;
-- Who waits for a lock lets nobody else have it: not for long.
set local lock_timeout = '1s';

do $check$
begin
  if current_setting('server_encoding') <> 'UTF8' then
    raise exception 'the encoding of this database is %, only UTF8 is accepted',
      current_setting('server_encoding')
      using hint = 'make one by: createdb --encoding UTF8 --template template0 NAME';
  end if;
  if current_setting('server_version_num')::int < 140000 then
    raise exception 'this server is Postgres %, accepted are 14 and later',
      current_setting('server_version');
  end if;
end
$check$;
