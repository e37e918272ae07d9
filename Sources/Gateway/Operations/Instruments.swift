/// What every part of a gateway tells what it does with: the log, the clock and the measurements.
struct Instruments {
    let log: Logger
    let clock = LoopClock()
    let measurements = Measurements()
}
