#!lua
-- include arguments publishing permitted
-- Shows whether the server would refuse any write, and writes nothing.
return {'done'}
