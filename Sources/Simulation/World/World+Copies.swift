import Replication
import VirtualDisk

/// Copies of a device: with the same keys, and what the first one had written until then.
extension World {
  /// A copy of a data directory begins to run too, with the same keys.
  func clone(_ device: Device) -> Bool {
    // A copy of a machine's image brings even the number of the file along: then both write the same log.
    guard let twin = copy(device, isOfImage: random.happens(perThousand: 600)) else { return false }
    if random.happens(perThousand: 300) {
      // It lies in a drawer until everything else has been healed.
      twin.isResting = true
    } else if random.happens(perThousand: 500) {
      _ = separate(device, twin)
    } else {
      later(random.wait(2_000), .start(twin.number))
    }
    return true
  }

  /// Nil if there is a copy already.
  private func copy(_ device: Device, isOfImage: Bool) -> Device? {
    guard device.isHonest, devices.count(where: { $0.key == device.key && !$0.isGone }) < 2,
      devices.count < 12
    else { return nil }
    let twin = Device(
      device.keys, number: devices.count, world: self, isHonest: true,
      // What a copy does not ask for does not tell it of the other one.
      preference: device.preference && random.happens(perThousand: 700))
    twin.twinNumber = devices.count
    twin.disk = device.disk.copy()
    if isOfImage { twin.storeIdentity = device.storeIdentity }
    twin.addressBook = device.addressBook + [device.address]
    devices.append(twin)
    tally.count("cloned")
    judged { try $0.cloned(device, as: twin) }
    return twin
  }

  /// Two copies of a device are in use where one does not hear of the other, each among some of the others.
  ///
  /// - Returns: for how long, and the numbers of the first copy and of those that it is among.
  private func separate(_ device: Device, _ twin: Device) -> (time: Moment, near: [Int]) {
    let time = someTime()
    let others = devices.filter { $0 !== device && $0 !== twin }.map(\.number).shuffled(using: &random)
    // Somebody on either side, if there are two.
    let near = [device.number] + others.prefix(others.count < 2 ? 1 : 1 + random.below(others.count - 1))
    divide(time) { near.contains($0.number) }
    // While a link seems to be there, nobody takes one with the other copy.
    for link in links.values.sorted(by: { $0.id < $1.id })
    where link.devices.contains(device.number)
      && !near.contains(where: { $0 != device.number && link.devices.contains($0) })
    {
      breakLink(link)
    }
    for part in 1...3 { later(time * Moment(part) / 4, .end(.words([device.number, twin.number]))) }
    // Now and then more than a search for the place where they part finds at once.
    if random.happens(perThousand: 400) {
      let words = random.logarithmic(20, 120)
      for part in 1...words {
        later(time * Moment(part) / Moment(words + 1), .end(.stream([device.number, twin.number])))
      }
    }
    if random.happens(perThousand: 500) {
      later(time - 1, .end(.hearsay(random.happens(perThousand: 500) ? device.number : twin.number)))
    }
    let start = random.wait(options.faultsEvery)
    later(start, .start(twin.number))
    // Before anybody has told what else there is of its log.
    later(start + 2 + Moment(random.below(40)), .end(.words([twin.number])))
    return (time, near)
  }

  /// Each part of the circle takes out the copy that it knows: what one keeps of the log, the other has not seen.
  func tear(_ device: Device) -> Bool {
    guard maySpare(device), let twin = copy(device, isOfImage: true) else { return false }
    twin.preference = device.preference
    // What is ahead of the others waits for its time there.
    if random.happens(perThousand: 300) {
      device.clock.offset += Self.driftMilliseconds + random.wait(10_000)
    }
    let (time, near) = separate(device, twin)
    later(time - 2, .end(.verdicts(device.number, near: near)))
    return true
  }
}
