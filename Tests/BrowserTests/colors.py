"""What a page looks like where the system chooses the colours."""

import base64

#: The colours of a picture, each with its share of it.
COLORS = """async (png) => {
  const picture = new Image();
  picture.src = `data:image/png;base64,${png}`;
  await picture.decode();
  const { naturalWidth: width, naturalHeight: height } = picture;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(picture, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const counts = {};
  for (let at = 0; at < data.length; at += 4) {
    const color = `rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`;
    counts[color] = (counts[color] ?? 0) + 4 / data.length;
  }
  return counts;
}"""
#: What the system calls the colours of text and of the ground.
SYSTEM = """() => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.forcedColorAdjust = 'none';
  const colors = ['CanvasText', 'Canvas'].map((name) => {
    probe.style.color = name;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return colors;
}"""


def colors(darkroom, locator):
    """The colours that an element is drawn with, each with its share of it.

    `darkroom` is another page, which nothing is drawn on.
    """
    picture = base64.b64encode(locator.screenshot(animations="disabled")).decode()
    return darkroom.evaluate(COLORS, picture)
