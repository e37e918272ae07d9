-- Two who install at a time come one after the other.
do $lock$ begin
  perform pg_advisory_xact_lock(hashtextextended('gapless:' || {schema_text}, 0));
end $lock$;
